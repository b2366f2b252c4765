#include "server/messages_request.h"

#include "base/cat.h"

namespace mlxcel::server {
namespace {

Error expected(const std::string& where, std::string_view what, const json::value& found) {
  return {Code::kInvalid, cat(where, ": expected ", what, ", found ", describe(found))};
}

// A string, or blocks of text.
Result<json::string> read_text(const Fields& f, std::string_view name, const std::string& where) {
  const json::value* v = f.find(name);
  if (v == nullptr) return json::string();
  if (v->is_string()) return v->get_string();
  if (!v->is_array()) return f.wrong(name, "a string or a list of blocks", *v);
  return join_parts(v->get_array(), where, "text");
}

Result<std::string> required(const Fields& f, std::string_view name) {
  TRY(auto text, f.string(name));
  if (!text) return f.wrong(name, "a string", json::value());
  return std::move(*text);
}

// One block of a user's or an assistant's message.
Status read_block(const json::value& block, const std::string& role, const std::string& where,
                  Turns& turns) {
  if (!block.is_object()) return expected(where, "an object", block);
  const Fields f(block.get_object(), where + ".");
  TRY(const auto type, f.string("type"));
  if (type == "text") {
    TRY(const std::string text, required(f, "text"));
    turns.say(role, text);
  } else if (type == "thinking" && role == "assistant") {
    TRY(const std::string text, required(f, "thinking"));
    turns.think(text);
  } else if (type == "redacted_thinking" && role == "assistant") {
    return Ok{};  // nobody here can read it
  } else if (type == "tool_use" && role == "assistant") {
    TRY(const std::string id, required(f, "id"));
    TRY(const std::string name, required(f, "name"));
    TRY(const json::object* input, f.object("input"));
    turns.call(id, name, input == nullptr ? json::value(json::object()) : json::value(*input));
  } else if (type == "tool_result" && role == "user") {
    TRY(const std::string id, required(f, "tool_use_id"));
    TRY(const json::string text, read_text(f, "content", where + ".content"));
    turns.result(id, text);
  } else {
    return f.unsupported(
        "type", cat("no such block here, found ", type ? describe(json::value(*type)) : "none"));
  }
  return Ok{};
}

Status read_message(const json::value& message, const std::string& where, Turns& turns) {
  if (!message.is_object()) return expected(where, "an object", message);
  const Fields f(message.get_object(), where + ".");
  TRY(const auto role, f.string("role"));
  if (role != "user" && role != "assistant" && role != "system")
    return f.wrong("role", "user, assistant or system", role ? json::value(*role) : json::value());
  const json::value* content = f.find("content");
  if (content != nullptr && content->is_array() && role != "system") {
    const json::array& blocks = content->get_array();
    for (size_t i = 0; i < blocks.size(); i++)
      TRY_OK(read_block(blocks[i], *role, cat(where, ".content[", i, "]"), turns));
    return Ok{};
  }
  if (content == nullptr) return f.wrong("content", "a string or a list of blocks", json::value());
  TRY(const json::string text, read_text(f, "content", where + ".content"));
  turns.say(*role, text);
  return Ok{};
}

Status read_messages(const Fields& f, Conversation& c) {
  TRY(const json::array* messages, f.array("messages"));
  if (messages == nullptr || messages->empty())
    return f.wrong("messages", "a list of at least one message",
                   messages == nullptr ? json::value() : json::value(*messages));
  Turns turns({}, true);
  TRY(const json::string system, read_text(f, "system", "system"));
  if (!system.empty()) turns.say("system", system);
  for (size_t i = 0; i < messages->size(); i++)
    TRY_OK(read_message((*messages)[i], cat("messages[", i, "]"), turns));
  const json::array& all = turns.messages();
  if (all.empty()) return f.wrong("messages", "at least one block", json::value(*messages));
  if (all.back().get_object().at("role") == "assistant")
    return f.unsupported("messages", "the last may not be the assistant's: no answer is continued");
  c.request["messages"] = all;
  return Ok{};
}

// {"type": "any"} -> "required", ...
Result<json::value> read_choice(const Fields& f, Conversation& c) {
  TRY(const json::object* choice, f.object("tool_choice"));
  if (choice == nullptr) return json::value("auto");
  const Fields parts(*choice, "tool_choice.");
  TRY(const auto type, parts.string("type"));
  TRY(const auto one, parts.boolean("disable_parallel_tool_use"));
  c.parallel_calls = !one.value_or(false);
  if (type == "auto" || type == "none") return json::value(*type);
  if (type == "any" || type == "tool") return json::value("required");
  return parts.wrong("type", "auto, any, tool or none", type ? json::value(*type) : json::value());
}

Status read_calls(const Fields& f, const ChatModel& chat, Conversation& c) {
  TRY(const json::array* given, f.array("tools"));
  TRY(const json::value choice, read_choice(f, c));
  if (given == nullptr || given->empty()) return Ok{};
  TRY(json::array tools, read_tools(*given, {"custom", true, "input_schema"}));
  TRY(const bool wanted, may_call(f, &choice));
  return wanted ? set_tools(f, std::move(tools), chat, c) : Ok{};
}

// A budget is read and not kept: nothing but max_tokens ends a thought.
Status read_thinking(const Fields& f, Conversation& c) {
  TRY(const json::object* thinking, f.object("thinking"));
  if (thinking == nullptr) return Ok{};
  const Fields parts(*thinking, "thinking.");
  TRY(const auto type, parts.string("type"));
  if (type != "enabled" && type != "disabled" && type != "adaptive" && type != "between_tools")
    return parts.wrong("type", "enabled, adaptive or disabled",
                       type ? json::value(*type) : json::value());
  TRY_OK(parts.integer("budget_tokens", 1, std::numeric_limits<int32_t>::max()));
  TRY(const json::object* said, f.object("chat_template_kwargs"));
  if (said == nullptr || !said->contains("enable_thinking"))
    c.request["enable_thinking"] = type != "disabled";
  return Ok{};
}

Status refuse_unsupported(const Fields& f) {
  for (const char* name : {"mcp_servers", "container"}) {
    const json::value* v = f.find(name);
    if (v != nullptr && !(v->is_array() && v->get_array().empty()))
      return f.unsupported(name, "nothing runs on this server but the model");
  }
  TRY(const json::object* output, f.object("output_config"));
  if (output != nullptr && Fields(*output).find("format") != nullptr)
    return f.unsupported("output_config.format", "constrained output is not supported yet");
  if (f.find("output_format") != nullptr)
    return f.unsupported("output_format", "constrained output is not supported yet");
  return Ok{};
}

std::string_view type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

}  // namespace

Result<MessagesRequest> read_messages_request(const json::object& body, const Api& api,
                                              bool answered) {
  const Fields f(body);
  MessagesRequest r;
  Conversation& c = r.conversation;
  TRY_OK(check_model(body, api.model));
  TRY_OK(check_chat(*api.model.chat, "messages"));
  TRY_OK(refuse_unsupported(f));
  TRY(r.wishes, read_wishes(body, api.model, api.options, {"max_tokens", "stop_sequences"}));
  r.wishes.choices = 1;
  if (answered && f.find("max_tokens") == nullptr)
    return f.wrong("max_tokens", "a whole number", json::value());
  TRY(c.request, read_variables(f, api.options));
  TRY_OK(read_messages(f, c));
  TRY_OK(read_calls(f, *api.model.chat, c));
  c.parse.reasoning = api.options.reasoning;
  TRY_OK(read_thinking(f, c));
  return r;
}

json::object to_messages_error(const ApiError& e) {
  return {{"type", "error"},
          {"error", json::object{{"type", type_of(e.status)}, {"message", e.message}}}};
}

HttpResponse to_messages_response(const ApiError& e) {
  HttpResponse r = to_response(e);
  r.body = json::serialize(to_messages_error(e));
  return r;
}

}  // namespace mlxcel::server
