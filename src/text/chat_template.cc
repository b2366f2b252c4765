#include "text/chat_template.h"

#include "base/cat.h"

namespace mlxcel::text {
namespace {

using Pairs = std::vector<std::pair<Value, Value>>;

Value key(std::string_view name) { return make_string(name, false); }

Error wrong(std::string_view what, std::string_view expected, const Value& found) {
  return Error{Code::kInvalid, cat(what, ": expected ", expected, ", found ", type_name(found))};
}

const Value* reasoning_of(const Dict& message) {
  for (std::string_view name : {"reasoning_content", "thinking", "reasoning"})
    if (const Value* v = message.find(name); v && !v->is_none()) return v;
  return nullptr;
}

Result<Value> normalized(const Value& message, size_t index) {
  if (!message.dict()) return wrong(cat("messages[", index, "]"), "a dict", message);
  const Value* role = message.dict()->find("role");
  if (role && !role->string()) return wrong(cat("messages[", index, "].role"), "a string", *role);
  const Value* reasoning = reasoning_of(*message.dict());
  Pairs pairs;
  if (reasoning) pairs.emplace_back(key("thinking"), *reasoning);
  for (const auto& [k, v] : message.dict()->items)
    if (!v.is_none()) pairs.emplace_back(k, v);
  if (reasoning) pairs.emplace_back(key("reasoning_content"), *reasoning);
  const Value* content = message.dict()->find("content");
  const bool assistant = role && role->string()->text.bytes() == "assistant";
  if (assistant && (!content || content->is_none())) pairs.emplace_back(key("content"), key(""));
  return make_dict(std::move(pairs));
}

}  // namespace

Result<ChatTemplate> ChatTemplate::create(std::string source, std::string name,
                                          std::string bos_token, std::string eos_token) {
  TRY(Template parsed, Template::parse(std::move(source), std::move(name)));
  ChatTemplate chat(std::move(parsed));
  chat.bos_ = std::move(bos_token);
  chat.eos_ = std::move(eos_token);
  return chat;
}

Result<Rendered> ChatTemplate::render(const ChatInput& input, const RenderOptions& options) const {
  if (!input.messages.is_list()) return wrong("messages", "a list", input.messages);
  const bool tools = !input.tools.is_missing() && !input.tools.is_none();
  if (tools && !input.tools.is_list()) return wrong("tools", "a list", input.tools);
  std::vector<Value> messages;
  for (size_t i = 0; i < input.messages.seq()->items.size(); i++) {
    TRY(Value m, normalized(input.messages.seq()->items[i], i));
    messages.push_back(std::move(m));
  }
  Pairs context;
  context.emplace_back(key("bos_token"), key(bos_));
  context.emplace_back(key("eos_token"), key(eos_));
  context.emplace_back(key("documents"), none());
  if (input.kwargs.dict()) {
    const auto& more = input.kwargs.dict()->items;
    context.insert(context.end(), more.begin(), more.end());
  } else if (!input.kwargs.is_missing()) {
    return wrong("chat_template_kwargs", "a dict", input.kwargs);
  }
  context.emplace_back(key("messages"), make_list(std::move(messages)));
  context.emplace_back(key("tools"), tools ? input.tools : none());
  context.emplace_back(key("add_generation_prompt"), Value(input.add_generation_prompt));
  return template_.render(make_dict(std::move(context)), options);
}

Result<Rendered> ChatTemplate::render_json(std::string_view request,
                                           const RenderOptions& options) const {
  TRY(const Value parsed, value_from_json_text(request));
  if (!parsed.dict()) return wrong("request", "a dict", parsed);
  ChatInput input;
  Pairs kwargs;
  input.add_generation_prompt = false;  // as apply_chat_template
  for (const auto& [name, value] : parsed.dict()->items) {
    const std::string& n = name.string()->text.bytes();
    if (n == "messages") {
      input.messages = value;
    } else if (n == "tools") {
      input.tools = value;
    } else if (n == "add_generation_prompt") {
      input.add_generation_prompt = truthy(value);
    } else {
      kwargs.emplace_back(name, value);
    }
  }
  input.kwargs = make_dict(std::move(kwargs));
  return render(input, options);
}

}  // namespace mlxcel::text
