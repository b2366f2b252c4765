// A request's JSON body, and typed access to its fields. A field that is null counts as absent; one
// of a wrong type or out of range is an Error that begins with its name. Unknown ones are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel::server {

// The object that the body holds: UTF-8, at most kMostDepth deep.
inline constexpr int kMostDepth = 100;
Result<json::object> parse_body(std::string_view body);

class Fields {
 public:
  // The object must outlive this. `path` goes before names in messages: "stream_options.".
  explicit Fields(const json::object& object, std::string path = "")
      : object_(object), path_(std::move(path)) {}

  const json::value* find(std::string_view name) const;  // nullptr: absent or null
  // The one of two names for one thing that is there; an error if both are and differ.
  Result<const json::value*> either(std::string_view name, std::string_view other) const;

  Result<std::optional<bool>> boolean(std::string_view name) const;
  Result<std::optional<int64_t>> integer(std::string_view name, int64_t low, int64_t high) const;
  Result<std::optional<double>> number(std::string_view name) const;
  Result<std::optional<std::string>> string(std::string_view name) const;
  Result<const json::object*> object(std::string_view name) const;  // nullptr: absent
  Result<const json::array*> array(std::string_view name) const;

  Error wrong(std::string_view name, std::string_view expected, const json::value& found) const;
  Error unsupported(std::string_view name, std::string_view why) const;

 private:
  const json::object& object_;
  std::string path_;
};

// "a string", "the number 7", ...: what was found instead.
std::string describe(const json::value& value);
// A whole number: 7, and 7.0 too.
std::optional<int64_t> whole_number(const json::value& value);

}  // namespace mlxcel::server
