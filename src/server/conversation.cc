#include "server/conversation.h"

#include <algorithm>

#include "base/cat.h"

namespace mlxcel::server {
namespace {

Error no_object(const std::string& where, const json::value& found) {
  return {Code::kInvalid, cat(where, ": expected an object, found ", describe(found))};
}

// Templates read arguments as an object; OpenAI's clients send its text.
json::value arguments_of(const json::value& given) {
  if (!given.is_string()) return given;
  json::parse_options options;
  options.max_depth = kMostDepth;
  boost::system::error_code ec;
  json::value parsed = json::parse(given.get_string(), ec, {}, options);
  if (!ec && parsed.is_object()) return parsed;
  return given;
}

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
  } else if (arguments->is_string() || arguments->is_object()) {
    function["arguments"] = arguments_of(json::value(*arguments));
  } else {
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
    TRY(json::string text, join_parts(content->get_array(), where + ".content", "text"));
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

Status check_tools(const json::array& tools) {
  for (size_t i = 0; i < tools.size(); i++) {
    const std::string where = cat("tools[", i, "]");
    if (!tools[i].is_object()) return no_object(where, tools[i]);
    const Fields tool(tools[i].get_object(), where + ".");
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
  return Ok{};
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

bool is_system(const json::value& message) { return message.get_object().at("role") == "system"; }

// All system messages as the first one.
json::array gathered(const json::array& messages) {
  json::string system;
  json::array others;
  for (const json::value& m : messages) {
    if (!is_system(m)) {
      others.push_back(m);
      continue;
    }
    if (!system.empty()) system += "\n\n";
    system += m.get_object().at("content").get_string();
  }
  json::array all = {json::object{{"role", "system"}, {"content", std::move(system)}}};
  for (json::value& m : others) all.push_back(std::move(m));
  return all;
}

}  // namespace

Result<Conversation> read_conversation(const json::object& body, const Api& api) {
  const Fields f(body);
  const ChatModel& chat = *api.model.chat;
  TRY_OK(check_chat(chat, "messages"));
  TRY(const json::array* messages, f.array("messages"));
  if (messages == nullptr || messages->empty())
    return f.wrong("messages", "a list of at least one message",
                   messages == nullptr ? json::value() : json::value(*messages));
  Conversation c;
  TRY(c.request, read_variables(f, api.options));
  constexpr int64_t kMostBudget = 1LL << 31;  // read and not kept, but for 0
  json::array read;
  for (size_t i = 0; i < messages->size(); i++) {
    TRY(json::object m, read_message((*messages)[i], cat("messages[", i, "]")));
    read.push_back(std::move(m));
  }
  c.request["messages"] = std::move(read);
  TRY(const json::array* tools, f.array("tools"));
  if (tools != nullptr && !tools->empty()) {
    TRY_OK(check_tools(*tools));
    TRY(const bool wanted, may_call(f, f.find("tool_choice")));
    if (wanted) TRY_OK(set_tools(f, *tools, chat, c));
  }
  TRY(const auto parallel, f.boolean("parallel_tool_calls"));
  c.parallel_calls = parallel.value_or(true);
  TRY_OK(read_reasoning(f, api.options.reasoning, c.parse));
  TRY(const auto effort, f.string("reasoning_effort"));
  if (effort) c.request["reasoning_effort"] = *effort;
  TRY(const auto budget, f.integer("thinking_budget_tokens", -1, kMostBudget));
  if (budget == 0) c.request["enable_thinking"] = false;
  TRY(const auto prompt, f.boolean("add_generation_prompt"));
  if (prompt) c.request["add_generation_prompt"] = *prompt;
  return c;
}

void fit_system_turns(const ChatModel& chat, Conversation& c) {
  const json::array& messages = c.request.at("messages").get_array();
  if (messages.empty() || std::none_of(messages.begin() + 1, messages.end(), is_system)) return;
  if (chat.chat->render_json(json::serialize(c.request))) return;
  c.request["messages"] = gathered(messages);
}

// ---- parts of translations

const json::object* Turns::last() const {
  return messages_.empty() ? nullptr : &messages_.back().get_object();
}

json::object& Turns::assistant(bool joins) {
  if (!joins) messages_.push_back(json::object{{"role", "assistant"}, {"content", ""}});
  return messages_.back().get_object();
}

void Turns::say(std::string_view role, std::string_view text) {
  const json::object* before = last();
  const bool goes_on = before != nullptr && before->at("role") == json::string(role) &&
                       !before->contains("tool_calls");
  const bool begun = goes_on && before->at("content") == "" && role == "assistant";
  if (!begun && !(goes_on && joined_)) {
    messages_.push_back(json::object{{"role", role}, {"content", text}});
    return;
  }
  json::string& content = messages_.back().get_object()["content"].get_string();
  if (!begun) content += "\n";
  content += text;
}

void Turns::think(std::string_view text) { assistant(false)["reasoning_content"] = text; }

void Turns::call(std::string_view id, std::string_view name, const json::value& arguments) {
  const json::object* before = last();
  json::object& turn = assistant(before != nullptr && before->at("role") == "assistant");
  if (!turn.contains("tool_calls")) turn["tool_calls"] = json::array();
  const json::object function = {{"name", name}, {"arguments", arguments_of(arguments)}};
  turn["tool_calls"].get_array().push_back(
      json::object{{"id", id}, {"type", "function"}, {"function", function}});
}

void Turns::result(std::string_view id, std::string_view text) {
  messages_.push_back(json::object{{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
}

Status check_chat(const ChatModel& chat, std::string_view field) {
  if (chat.chat) return Ok{};
  return Error{Code::kUnsupported,
               cat(field, ": this model has no chat template; /v1/completions takes plain text")};
}

Result<json::string> join_parts(const json::array& parts, std::string_view where,
                                std::string_view type, std::string_view other_type) {
  json::string text;
  for (size_t i = 0; i < parts.size(); i++) {
    const std::string here = cat(where, "[", i, "].");
    if (!parts[i].is_object()) return no_object(cat(where, "[", i, "]"), parts[i]);
    const Fields part(parts[i].get_object(), here);
    TRY(const auto found, part.string("type"));
    if (!found || (*found != type && *found != other_type))
      return part.unsupported("type", cat("this model reads text only, found ",
                                          found ? describe(json::value(*found)) : "none"));
    TRY(const auto piece, part.string("text"));
    if (!piece) return part.wrong("text", "a string", json::value());
    if (i > 0) text += "\n";
    text += *piece;
  }
  return text;
}

Result<json::object> read_variables(const Fields& f, const ApiOptions& options) {
  json::object all = options.variables;
  TRY(const json::object* given, f.object("chat_template_kwargs"));
  if (given != nullptr)
    for (const auto& [name, v] : *given) all[name] = v;
  all.erase("tools");
  all["add_generation_prompt"] = true;
  return all;
}

Result<json::array> read_tools(const json::array& given, const ToolWords& words) {
  json::array tools;
  for (size_t i = 0; i < given.size(); i++) {
    const std::string where = cat("tools[", i, "]");
    if (!given[i].is_object()) return no_object(where, given[i]);
    const Fields f(given[i].get_object(), where + ".");
    TRY(const auto type, f.string("type"));
    if (type.value_or(std::string(words.implied ? words.type : "")) != words.type)
      return f.unsupported("type", cat("expected ", words.type, ", found ",
                                       type ? describe(json::value(*type)) : "none"));
    TRY(const auto name, f.string("name"));
    if (!name || name->empty()) return f.wrong("name", "a name", json::value());
    TRY(const auto description, f.string("description"));
    TRY(const json::object* schema, f.object(words.schema));
    json::object function = {{"name", *name}};
    if (description) function["description"] = *description;
    if (schema != nullptr) function["parameters"] = *schema;
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

Result<bool> may_call(const Fields& f, const json::value* choice) {
  if (choice == nullptr || *choice == "auto") return true;
  if (*choice == "none") return false;
  if (!choice->is_object() && *choice != "required")
    return f.wrong("tool_choice", "none, auto, required or a function", *choice);
  return f.unsupported("tool_choice",
                       "a call cannot be forced until constrained output is supported; use auto");
}

Status set_tools(const Fields& f, json::array tools, const ChatModel& chat, Conversation& c) {
  if (!text::has_calls(chat.dialect))
    return f.unsupported("tools", "this model's chat template has no form for tool calls");
  TRY(c.parse.tools, text::value_from_json(json::value(tools)));
  c.parse.calls = true;
  c.request["tools"] = std::move(tools);
  return Ok{};
}

}  // namespace mlxcel::server
