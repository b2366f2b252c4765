// POST /v1/chat/completions: a conversation through the model's template.
#include "server/choices_wording.h"
#include "server/conversation_plan.h"
#include "server/routes/routes.h"
#include "server/scored_tokens.h"

namespace mlxcel::server {
namespace {

class ChatWording final : public ChoicesWording {
 public:
  ChatWording(const Tokenizer& tokenizer, bool logprobs)
      : tokenizer_(tokenizer), logprobs_(logprobs) {}

  std::string_view object(bool chunk) const override {
    return chunk ? "chat.completion.chunk" : "chat.completion";
  }
  std::string id_prefix() const override { return "chatcmpl-"; }

  json::object choice(const Choice& c) override {
    json::object message = {{"role", "assistant"}, {"content", content(c.message)}};
    if (!c.message.reasoning.empty()) message["reasoning_content"] = c.message.reasoning;
    if (!c.message.calls.empty()) message["tool_calls"] = calls(c);
    message["refusal"] = nullptr;
    return {{"index", c.index},
            {"message", std::move(message)},
            {"logprobs", logprobs(c.scored)},
            {"finish_reason", finish_reason(c)}};
  }
  std::optional<json::object> first_chunk(const Choice& c) override {
    const bool call = c.unsent.content.empty() && !c.unsent.calls.empty();
    const json::value nothing = call ? json::value() : json::value("");
    return chunk(c, {{"role", "assistant"}, {"content", nothing}}, nullptr, nullptr);
  }
  json::object next_chunk(const Choice& c) override {
    json::object delta;
    const text::ParsedMessage& m = c.unsent;
    if (!m.reasoning.empty()) delta["reasoning_content"] = m.reasoning;
    if (!m.content.empty()) delta["content"] = m.content;
    if (!m.calls.empty()) delta["tool_calls"] = call_deltas(c);
    return chunk(c, std::move(delta), logprobs(c.unscored), nullptr);
  }
  json::object last_chunk(const Choice& c) override {
    return chunk(c, json::object(), nullptr, json::string(finish_reason(c)));
  }

 private:
  // As OpenAI: null beside calls.
  static json::value content(const text::ParsedMessage& m) {
    return m.content.empty() && !m.calls.empty() ? json::value() : json::value(m.content);
  }

  static json::object call(const std::string& id, const text::ToolCall& t) {
    const json::object function = {{"name", t.name}, {"arguments", t.arguments}};
    return {{"id", id}, {"type", "function"}, {"function", function}};
  }
  static json::array calls(const Choice& c) {
    json::array all;
    for (size_t i = 0; i < c.message.calls.size(); i++)
      all.push_back(call(c.call_ids[i], c.message.calls[i]));
    return all;
  }
  // What goes on with a call has its index and arguments alone.
  static json::array call_deltas(const Choice& c) {
    json::array all;
    size_t next = c.sent_calls;
    for (const text::ToolCall& t : c.unsent.calls) {
      json::object delta;
      if (t.more) {
        delta["function"] = json::object{{"arguments", t.arguments}};
      } else {
        delta = call(c.call_ids[next], t);
        next++;
      }
      delta["index"] = next - 1;
      all.push_back(std::move(delta));
    }
    return all;
  }

  static json::object chunk(const Choice& c, json::object delta, json::value logprobs,
                            json::value reason) {
    return {{"index", c.index},
            {"delta", std::move(delta)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(reason)}};
  }

  json::value logprobs(const std::vector<ScoredToken>& scored) const {
    if (!logprobs_) return nullptr;
    return json::object{{"content", to_json(scored, tokenizer_)}, {"refusal", nullptr}};
  }

  const Tokenizer& tokenizer_;
  const bool logprobs_;
};

Status read_logprobs(const Fields& f, Wishes& w) {
  TRY(const auto wanted, f.boolean("logprobs"));
  TRY(const auto top, f.integer("top_logprobs", 0, kMaxTopLogprobs));
  w.logprobs = wanted.value_or(false);
  if (top && *top > 0 && !w.logprobs)
    return f.wrong("logprobs", "true where top_logprobs is given", json::value(false));
  w.sampling.logprobs = static_cast<int32_t>(top.value_or(0));
  return Ok{};
}

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  TRY_OK(check_model(body, api.model));
  TRY(Wishes wishes, read_wishes(body, api.model, api.options));
  TRY_OK(read_logprobs(Fields(body), wishes));
  const ChatModel& chat = *api.model.chat;
  TRY(Conversation conversation, read_conversation(body, api));
  auto wording = std::make_unique<ChatWording>(*chat.tokenizer, wishes.logprobs);
  TRY(GenerationPlan plan, plan_conversation(chat, std::move(conversation), std::move(wishes),
                                             std::move(wording), "messages"));
  generate(api, x, std::move(plan));
  return Ok{};
}

}  // namespace

void chat_completions(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
