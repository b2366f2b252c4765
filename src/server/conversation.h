// A conversation in the words of chat templates: what each protocol's body is translated into.
#pragma once

#include <string>
#include <string_view>

#include "chat/message_stream.h"
#include "server/api.h"
#include "server/fields.h"

namespace mlxcel::server {

struct Conversation {
  json::object request;        // for ChatModel::prompt
  MessageOptions parse;        // how its answer is taken apart
  bool parallel_calls = true;  // false: the answer ends with its first call
};

// The body of /v1/chat/completions. Content that comes in parts is joined; parts that are no text
// are an Error.
Result<Conversation> read_conversation(const json::object& body, const Api& api);

// Where the template takes no system message behind the first one: makes all of them the first.
void fit_system_turns(const ChatModel& chat, Conversation& conversation);

// ---- what translations are made of

// Messages, from parts that come one by one: what an assistant thought, said and called in a row is
// one message. `joined`: so are several texts of one role in a row.
class Turns {
 public:
  explicit Turns(json::array begun = {}, bool joined = false)
      : messages_(std::move(begun)), joined_(joined) {}
  void say(std::string_view role, std::string_view text);
  void think(std::string_view text);
  // `arguments`: an object, or its JSON text.
  void call(std::string_view id, std::string_view name, const json::value& arguments);
  void result(std::string_view id, std::string_view text);
  const json::array& messages() const { return messages_; }

 private:
  json::object& assistant(bool joins);
  const json::object* last() const;
  json::array messages_;
  const bool joined_;
};

// Whether the request has a chat template; the error names `field`.
Status check_chat(const ChatModel& chat, std::string_view field);
// The parts of type `type` or `other_type`, joined; others are an Error that names `where`.
Result<json::string> join_parts(const json::array& parts, std::string_view where,
                                std::string_view type, std::string_view other_type = {});
// What the template reads beside messages and tools: the body's "chat_template_kwargs" over the
// server's own. A generation prompt is asked for.
Result<json::object> read_variables(const Fields& f, const ApiOptions& options);
// How a protocol writes a tool: {"type": TYPE, "name", "description", SCHEMA: {...}}.
struct ToolWords {
  std::string_view type;    // the only one that is understood
  bool implied;             // may be left out
  std::string_view schema;  // the field that describes the arguments
};
// "tools" of such a protocol in OpenAI's form of chats.
Result<json::array> read_tools(const json::array& given, const ToolWords& words);
// Whether the answer may call; `choice` as OpenAI's. A call that is demanded is an Error: nothing
// could keep the promise while output is not constrained.
Result<bool> may_call(const Fields& f, const json::value* choice);
// Gives the model tools that were checked, in OpenAI's form.
Status set_tools(const Fields& f, json::array tools, const ChatModel& chat, Conversation& c);

}  // namespace mlxcel::server
