#include "server/responses_request.h"

#include "base/cat.h"

namespace mlxcel::server {
namespace {

Error expected(const std::string& where, std::string_view what, const json::value& found) {
  return {Code::kInvalid, cat(where, ": expected ", what, ", found ", describe(found))};
}

// The text of a content or an output: a string, or parts.
Result<json::string> read_text(const Fields& f, std::string_view name, const std::string& where,
                               std::string_view type) {
  const json::value* v = f.find(name);
  if (v != nullptr && v->is_string()) return v->get_string();
  if (v == nullptr || !v->is_array())
    return f.wrong(name, "a string or a list of parts", v == nullptr ? json::value() : *v);
  return join_parts(v->get_array(), cat(where, ".", name), type,
                    type == "input_text" ? "output_text" : "text");
}

Result<std::string> required(const Fields& f, std::string_view name) {
  TRY(auto text, f.string(name));
  if (!text || text->empty()) return f.wrong(name, "a string", json::value());
  return std::move(*text);
}

Status read_message(const Fields& f, const std::string& where, Turns& turns) {
  TRY(const auto role, f.string("role"));
  const bool system = role == "system" || role == "developer";
  if (!system && role != "user" && role != "assistant")
    return f.wrong("role", "user, assistant, system or developer",
                   role ? json::value(*role) : json::value());
  TRY(const json::string text, read_text(f, "content", where, "input_text"));
  turns.say(system ? "system" : *role, text);
  return Ok{};
}

Status read_item(const json::value& item, const std::string& where, Turns& turns) {
  if (!item.is_object()) return expected(where, "an object", item);
  const Fields f(item.get_object(), where + ".");
  TRY(const auto type, f.string("type"));
  if (!type || *type == "message") return read_message(f, where, turns);
  if (*type == "function_call") {
    TRY(const std::string id, required(f, "call_id"));
    TRY(const std::string name, required(f, "name"));
    TRY(const auto arguments, f.string("arguments"));
    turns.call(id, name, json::value(arguments.value_or("{}")));
  } else if (*type == "function_call_output") {
    TRY(const std::string id, required(f, "call_id"));
    TRY(const json::string text, read_text(f, "output", where, "input_text"));
    turns.result(id, text);
  } else if (*type == "reasoning") {
    if (f.find("content") == nullptr) return Ok{};  // only its summary, which no template reads
    TRY(const json::string text, read_text(f, "content", where, "reasoning_text"));
    turns.think(text);
  } else {
    return f.unsupported("type", cat("no such item here, found ", describe(json::value(*type))));
  }
  return Ok{};
}

Status read_calls(const Fields& f, const ChatModel& chat, Conversation& c) {
  TRY(const json::array* given, f.array("tools"));
  TRY(const auto parallel, f.boolean("parallel_tool_calls"));
  c.parallel_calls = parallel.value_or(true);
  if (given == nullptr || given->empty()) return Ok{};
  TRY(json::array tools, read_tools(*given, {"function", false, "parameters"}));
  TRY(const bool wanted, may_call(f, f.find("tool_choice")));
  return wanted ? set_tools(f, std::move(tools), chat, c) : Ok{};
}

// What is understood and not done.
Status refuse_unsupported(const Fields& f) {
  TRY(const json::object* text, f.object("text"));
  if (text != nullptr) {
    TRY(const json::object* format, Fields(*text, "text.").object("format"));
    if (format != nullptr) {
      TRY(const auto type, Fields(*format, "text.format.").string("type"));
      if (type != "text")
        return f.unsupported("text.format", "constrained output is not supported yet");
    }
  }
  TRY(const auto truncation, f.string("truncation"));
  if (truncation && *truncation != "disabled")
    return f.unsupported("truncation", "only disabled: nothing is left out of a prompt");
  if (f.find("prompt") != nullptr) return f.unsupported("prompt", "no prompts are kept here");
  TRY(const auto top, f.integer("top_logprobs", 0, kMaxTopLogprobs));
  if (top.value_or(0) > 0)
    return f.unsupported("top_logprobs", "use /v1/chat/completions for log probabilities");
  TRY(const json::array* include, f.array("include"));
  if (include != nullptr && !include->empty()) {
    for (const json::value& v : *include) {
      if (v != "reasoning.encrypted_content")  // reasoning is not encrypted
        return f.unsupported("include", cat("found ", describe(v)));
    }
  }
  return Ok{};
}

// What was said before, and where the answer is kept.
Status read_history(const Fields& f, Api& api, const std::string& owner, ResponsesRequest& r) {
  TRY(const auto previous, f.string("previous_response_id"));
  const json::value* conversation = f.find("conversation");
  if (conversation != nullptr && conversation->is_object())
    conversation = conversation->get_object().if_contains("id");
  if (conversation != nullptr && !conversation->is_string())
    return f.wrong("conversation", "an id", *conversation);
  if (previous && conversation != nullptr)
    return f.wrong("previous_response_id", "none beside conversation", json::value(*previous));
  const auto now = Clock::now();
  if (previous) {
    auto before = api.stores.responses.get(*previous, owner, now);
    if (!before) return Error{Code::kNotFound, "previous_response_id: no such response"};
    if (before->running)
      return f.wrong("previous_response_id", "one that has ended", json::value(*previous));
    r.messages = std::move(before->messages);
  } else if (conversation != nullptr) {
    r.conversation_id = conversation->get_string();
    auto before = api.stores.conversations.get(r.conversation_id, owner, now);
    if (!before) return Error{Code::kNotFound, "conversation: no such conversation"};
    r.messages = std::move(before->messages);
  }
  r.old = r.messages.size();
  return Ok{};
}

Status read_messages(const Fields& f, ResponsesRequest& r) {
  Turns turns(std::move(r.messages));
  const json::value* input = f.find("input");
  if (input == nullptr) return f.wrong("input", "a text or a list of items", json::value());
  TRY_OK(read_input(*input, turns));
  r.messages = turns.messages();
  if (r.messages.empty()) return f.wrong("input", "at least one item", *input);
  json::array& all = r.conversation.request["messages"].emplace_array();
  TRY(const auto instructions, f.string("instructions"));
  if (instructions) all.push_back(json::object{{"role", "system"}, {"content", *instructions}});
  for (const json::value& m : r.messages) all.push_back(m);
  return Ok{};
}

Status read_reasoning(const Fields& f, const ApiOptions& options, Conversation& c) {
  c.parse.reasoning = options.reasoning;
  TRY(const json::object* reasoning, f.object("reasoning"));
  if (reasoning == nullptr) return Ok{};
  TRY(const auto effort, Fields(*reasoning, "reasoning.").string("effort"));
  if (!effort) return Ok{};
  c.request["reasoning_effort"] = *effort;
  if (*effort == "none") c.request["enable_thinking"] = false;
  return Ok{};
}

// OpenAI's clients read these from the answer.
json::object repeated(const json::object& body, const ResponsesRequest& r, json::object metadata) {
  const auto given = [&](std::string_view name, const json::value& otherwise) {
    const json::value* v = body.if_contains(name);
    if (v == nullptr || v->is_null()) return otherwise;
    return *v;
  };
  const json::object no_reasoning = {{"effort", nullptr}, {"summary", nullptr}};
  const json::object plain_text = {{"format", json::object{{"type", "text"}}}};
  json::object o = {{"instructions", given("instructions", nullptr)},
                    {"max_output_tokens", given("max_output_tokens", nullptr)},
                    {"max_tool_calls", given("max_tool_calls", nullptr)},
                    {"parallel_tool_calls", r.conversation.parallel_calls},
                    {"previous_response_id", given("previous_response_id", nullptr)},
                    {"reasoning", given("reasoning", no_reasoning)},
                    {"store", r.store},
                    {"background", r.background},
                    {"temperature", given("temperature", r.wishes.sampling.temperature)},
                    {"top_p", given("top_p", r.wishes.sampling.top_p)},
                    {"text", given("text", plain_text)},
                    {"tool_choice", given("tool_choice", "auto")},
                    {"tools", given("tools", json::array())},
                    {"truncation", "disabled"},
                    {"user", given("user", nullptr)},
                    {"metadata", std::move(metadata)}};
  o["conversation"] = r.conversation_id.empty()
                          ? json::value()
                          : json::value(json::object{{"id", r.conversation_id}});
  return o;
}

}  // namespace

Status read_input(const json::value& input, Turns& turns) {
  if (input.is_string()) {
    turns.say("user", input.get_string());
    return Ok{};
  }
  if (!input.is_array()) return expected("input", "a text or a list of items", input);
  const json::array& items = input.get_array();
  for (size_t i = 0; i < items.size(); i++)
    TRY_OK(read_item(items[i], cat("input[", i, "]"), turns));
  return Ok{};
}

Result<json::object> read_metadata(const Fields& f) {
  constexpr size_t kMost = 16, kMostName = 64, kMostText = 512;
  TRY(const json::object* metadata, f.object("metadata"));
  if (metadata == nullptr) return json::object();
  if (metadata->size() > kMost) return f.wrong("metadata", "at most 16 entries", *metadata);
  for (const auto& [name, v] : *metadata) {
    if (name.size() > kMostName || !v.is_string() || v.get_string().size() > kMostText)
      return f.wrong("metadata", "names of at most 64 and texts of at most 512 bytes", v);
  }
  return *metadata;
}

Result<ResponsesRequest> read_responses_request(const json::object& body, Api& api,
                                                const std::string& owner) {
  const Fields f(body);
  const ChatModel& chat = *api.model.chat;
  ResponsesRequest r;
  TRY_OK(check_model(body, api.model));
  TRY_OK(check_chat(chat, "input"));
  TRY_OK(refuse_unsupported(f));
  TRY(r.wishes, read_wishes(body, api.model, api.options, {"max_output_tokens", "stop"}));
  r.wishes.choices = 1;
  TRY(json::object metadata, read_metadata(f));
  TRY(const auto store, f.boolean("store"));
  TRY(const auto background, f.boolean("background"));
  r.store = store.value_or(true), r.background = background.value_or(false);
  if (r.background && !r.store)
    return f.wrong("background", "false where nothing is stored", json::value(true));
  TRY(r.conversation.request, read_variables(f, api.options));
  TRY_OK(read_history(f, api, owner, r));
  TRY_OK(read_messages(f, r));
  TRY_OK(read_calls(f, chat, r.conversation));
  TRY_OK(read_reasoning(f, api.options, r.conversation));
  r.echo = repeated(body, r, std::move(metadata));
  return r;
}

}  // namespace mlxcel::server
