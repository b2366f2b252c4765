#include "server/conversation.h"

#include <algorithm>

#include "base/cat.h"

namespace mlxcel::server {
namespace {

Error no_object(const std::string& where, const json::value& found) {
  return {Code::kInvalid, cat(where, ": expected an object, found ", describe(found))};
}

Result<json::string> join_parts(const json::array& parts, const std::string& where) {
  json::string text;
  for (size_t i = 0; i < parts.size(); i++) {
    const std::string here = cat(where, "[", i, "].");
    if (!parts[i].is_object()) return no_object(cat(where, "[", i, "]"), parts[i]);
    const Fields part(parts[i].get_object(), here);
    TRY(const auto type, part.string("type"));
    if (type.value_or("") != "text")
      return part.unsupported("type", cat("this model reads text only, found ",
                                          type ? describe(json::value(*type)) : "none"));
    TRY(const auto piece, part.string("text"));
    if (!piece) return part.wrong("text", "a string", json::value());
    if (i > 0) text += "\n";
    text += *piece;
  }
  return text;
}

// Templates read arguments as an object; OpenAI's clients send its text.
Result<json::object> read_call(const json::value& v, const std::string& where) {
  if (!v.is_object()) return no_object(where, v);
  json::object call = v.get_object();
  const Fields f(call, where + ".");
  TRY(const json::object* found, f.object("function"));
  if (found == nullptr) return f.wrong("function", "an object", json::value());
  json::object function = *found;
  const Fields parts(function, where + ".function.");
  TRY(const auto name, parts.string("name"));
  if (!name) return parts.wrong("name", "a string", json::value());
  const json::value* arguments = parts.find("arguments");
  if (arguments == nullptr) {
    function["arguments"] = json::object();
  } else if (arguments->is_string()) {
    json::parse_options options;
    options.max_depth = kMostDepth;
    boost::system::error_code ec;
    const json::value parsed = json::parse(arguments->get_string(), ec, {}, options);
    if (!ec && parsed.is_object()) function["arguments"] = parsed;
  } else if (!arguments->is_object()) {
    return parts.wrong("arguments", "a JSON object as text", *arguments);
  }
  call["function"] = std::move(function);
  return call;
}

Result<json::object> read_message(const json::value& v, const std::string& where) {
  constexpr std::string_view kRoles[] = {"system",    "developer", "user",
                                         "assistant", "tool",      "function"};
  if (!v.is_object()) return no_object(where, v);
  json::object message = v.get_object();
  const Fields f(message, where + ".");
  TRY(const auto role, f.string("role"));
  if (!role || std::find(std::begin(kRoles), std::end(kRoles), *role) == std::end(kRoles))
    return f.wrong("role", "system, user, assistant or tool",
                   role ? json::value(*role) : json::value());
  const json::value* content = f.find("content");
  if (content == nullptr) {
    if (*role != "assistant") return f.wrong("content", "a string", json::value());
  } else if (content->is_array()) {
    TRY(json::string text, join_parts(content->get_array(), where + ".content"));
    message["content"] = std::move(text);
  } else if (!content->is_string()) {
    return f.wrong("content", "a string or a list of parts", *content);
  }
  TRY(const json::array* calls, f.array("tool_calls"));
  if (calls != nullptr) {
    json::array read;
    for (size_t i = 0; i < calls->size(); i++) {
      TRY(json::object call, read_call((*calls)[i], cat(where, ".tool_calls[", i, "]")));
      read.push_back(std::move(call));
    }
    message["tool_calls"] = std::move(read);
  }
  if (*role == "developer") message["role"] = "system";
  return message;
}

// The list that the template and the parser get: nothing where no call is wanted.
Result<const json::array*> read_tools(const Fields& f, const ChatModel& chat) {
  TRY(const json::array* tools, f.array("tools"));
  if (tools == nullptr || tools->empty()) return static_cast<const json::array*>(nullptr);
  for (size_t i = 0; i < tools->size(); i++) {
    const std::string where = cat("tools[", i, "]");
    if (!(*tools)[i].is_object()) return no_object(where, (*tools)[i]);
    const Fields tool((*tools)[i].get_object(), where + ".");
    TRY(const auto type, tool.string("type"));
    if (type.value_or("") != "function")
      return tool.wrong("type", "function", type ? json::value(*type) : json::value());
    TRY(const json::object* function, tool.object("function"));
    if (function == nullptr) return tool.wrong("function", "an object", json::value());
    const Fields parts(*function, where + ".function.");
    TRY(const auto name, parts.string("name"));
    if (!name || name->empty()) return parts.wrong("name", "a string", json::value());
    TRY_OK(parts.object("parameters"));
  }
  const json::value* choice = f.find("tool_choice");
  if (choice != nullptr && *choice == "none") return static_cast<const json::array*>(nullptr);
  if (choice != nullptr && *choice != "auto") {
    if (!choice->is_object() && *choice != "required")
      return f.wrong("tool_choice", "none, auto, required or a function", *choice);
    return f.unsupported("tool_choice",
                         "a call cannot be forced until constrained output is supported; use auto");
  }
  if (!text::has_calls(chat.dialect))
    return f.unsupported("tools", "this model's chat template has no form for tool calls");
  return tools;
}

Status read_reasoning(const Fields& f, text::ReasoningFormat usual, MessageOptions& parse) {
  parse.reasoning = usual;
  TRY(const auto format, f.string("reasoning_format"));
  if (!format || *format == "auto") return Ok{};
  if (*format != "none" && *format != "deepseek")
    return f.wrong("reasoning_format", "none, deepseek or auto", json::value(*format));
  parse.reasoning =
      *format == "none" ? text::ReasoningFormat::kNone : text::ReasoningFormat::kDeepseek;
  return Ok{};
}

}  // namespace

Result<Conversation> read_conversation(const json::object& body, const ChatModel& chat,
                                       text::ReasoningFormat reasoning) {
  const Fields f(body);
  if (!chat.chat)
    return Error{Code::kUnsupported,
                 "messages: this model has no chat template; /v1/completions takes plain text"};
  TRY(const json::array* messages, f.array("messages"));
  if (messages == nullptr || messages->empty())
    return f.wrong("messages", "a list of at least one message",
                   messages == nullptr ? json::value() : json::value(*messages));
  Conversation c;
  TRY(const json::object* variables, f.object("chat_template_kwargs"));
  if (variables != nullptr) c.request = *variables;
  json::array read;
  for (size_t i = 0; i < messages->size(); i++) {
    TRY(json::object m, read_message((*messages)[i], cat("messages[", i, "]")));
    read.push_back(std::move(m));
  }
  c.request["messages"] = std::move(read);
  TRY(const json::array* tools, read_tools(f, chat));
  c.parse.calls = tools != nullptr;
  c.request.erase("tools");
  if (tools != nullptr) {
    c.request["tools"] = *tools;
    TRY(c.parse.tools, text::value_from_json(json::value(*tools)));
  }
  TRY(const auto parallel, f.boolean("parallel_tool_calls"));
  c.parallel_calls = parallel.value_or(true);
  TRY_OK(read_reasoning(f, reasoning, c.parse));
  TRY(const auto effort, f.string("reasoning_effort"));
  if (effort) c.request["reasoning_effort"] = *effort;
  TRY(const auto prompt, f.boolean("add_generation_prompt"));
  c.request["add_generation_prompt"] = prompt.value_or(true);
  return c;
}

}  // namespace mlxcel::server
