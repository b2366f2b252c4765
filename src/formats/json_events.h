// A JSON text as a stream of events: for headers of up to 100 MB, where a tree would take many
// times the file, and where a name that occurs twice must not vanish.
#pragma once

#include <string_view>

#include "base/result.h"

namespace mlxcel {

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual Status begin_object() = 0;
  virtual Status end_object() = 0;
  virtual Status begin_array() = 0;
  virtual Status end_array() = 0;
  virtual Status key(std::string_view name) = 0;
  virtual Status string(std::string_view value) = 0;
  virtual Status integer(int64_t value) = 0;
  // Anything else: a bool, null, a fraction, an integer outside int64_t.
  virtual Status other(std::string_view what) = 0;
};

// Stops at the first error, of the events or of the text.
Status parse_json(std::string_view where, std::string_view text, JsonEvents& events);

}  // namespace mlxcel
