// What a stream of output tokens becomes: reasoning, content and tool calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlxcel::text {

struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text
  std::string id;         // empty unless the model wrote one
  // In a delta only: `arguments` go on those of the call before it; name and id are empty.
  bool more = false;

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

// Appends a call, or what goes on with the last one.
inline void append_call(std::vector<ToolCall>& calls, ToolCall call) {
  if (call.more && !calls.empty()) {
    calls.back().arguments += call.arguments;
  } else {
    calls.push_back(std::move(call));
  }
}

// A whole message, or what one step adds to it: texts are appended, and so are the arguments of a
// call that goes on.
struct ParsedMessage {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> calls;

  bool empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
  void append(const ParsedMessage& more) {
    reasoning += more.reasoning;
    content += more.content;
    for (const ToolCall& call : more.calls) append_call(calls, call);
  }
  friend bool operator==(const ParsedMessage&, const ParsedMessage&) = default;
};

// A piece of the detokenized stream.
struct Piece {
  std::string_view text;
  bool control = false;  // exactly one token that the vocabulary lists as added
};

}  // namespace mlxcel::text
