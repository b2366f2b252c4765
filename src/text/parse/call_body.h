// The body of tool calls while it comes: what lies between two marks, one class per shape.
//
// A call opens as soon as it is certain to be one, and its arguments follow as they come. Where a
// format has to see the whole first, the calls come at the end. Either way the deltas depend on
// the text alone, not on its pieces.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/parse/message.h"
#include "text/parse/schema.h"

namespace mlxcel::text {

class CallBody {
 public:
  virtual ~CallBody() = default;
  // Takes more of the body; appends what is certain.
  virtual void push(std::string_view text, std::vector<ToolCall>& calls) = 0;
  // The end of the body; appends the rest. Returns what belongs to no call: it is content.
  virtual std::string finish(std::vector<ToolCall>& calls) = 0;
  // True once a call is open: the marks around it are then no content, whatever follows.
  virtual bool opened() const { return false; }
};

using Calls = std::vector<ToolCall>;

// The calls of a whole body; nothing if it is none.
using CallFormat = std::function<std::optional<Calls>(std::string_view, const ToolSchemas&)>;

// Reads the whole body at its end.
std::unique_ptr<CallBody> whole_body(CallFormat format, const ToolSchemas& schemas);

// Name, id and the place of the opening brace of the first call's arguments, if `body` holds the
// beginning of a call up to there.
struct CallStart {
  std::string name = {}, id = {};
  size_t arguments = 0;
  bool in_object = false;  // they are a member of an object, whose other members are of no use
};
using FindStart = std::function<std::optional<CallStart>(std::string_view body)>;

// Calls whose arguments are written as JSON objects. One of a declared tool passes its arguments on
// as they come, and then stays a call even if they are cut or no JSON; any other is left to
// `format` at the end.
std::unique_ptr<CallBody> json_body(FindStart find, CallFormat format, const ToolSchemas& schemas);

// Writes an object of arguments whose values come as bare text. A string grows while it comes.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(const ToolSchemas& schemas) : schemas_(schemas) {}

  void open(std::string_view tool, Calls& calls);
  void key(std::string_view name, Calls& calls);
  // `value`: what is certain of its text so far. REQUIRES: a longer form of what came before.
  void grow(std::string_view value, Calls& calls);
  void value(std::string_view value, Calls& calls);  // all of it
  void close(Calls& calls);

 private:
  const ToolSchemas& schemas_;
  std::string tool_, name_;
  bool first_ = true, text_ = false;
  size_t written_ = 0;  // bytes of a growing string
};

}  // namespace mlxcel::text
