#include "server/native_completion.h"

#include <cmath>

#include "base/cat.h"
#include "server/scored_tokens.h"

namespace mlxcel::server {
namespace {

struct NativeOptions {
  bool probabilities = false;       // n_probs was given
  bool tokens = false;              // return_tokens
  bool timings = false;             // timings_per_token
  std::vector<std::string> fields;  // of the whole answer that are wanted; none: all
};

class NativeWording final : public Wording {
 public:
  NativeWording(const ChatModel& chat, std::vector<int32_t> prompt, NativeOptions options)
      : tokenizer_(*chat.tokenizer), prompt_(std::move(prompt)), options_(std::move(options)) {}

  std::string id_prefix() const override { return "cmpl-"; }

  void piece(const Answer& a, Choice& c, Exchange& out) override {
    json::object o = begun(a, c, c.unsent.content, c.unscored, sent_);
    sent_ = c.tokens.size();
    o["stop"] = false;
    if (options_.timings) o["timings"] = timings_now(a, c);
    out.event(json::serialize(o));
  }

  void last(const Answer&, Choice&, Exchange&) override {}

  void finish(const Answer& a, Exchange& out) override {
    const Choice& c = *a.choices.front();
    const bool stream = a.wishes.stream;
    json::object o = begun(a, c, stream ? "" : c.message.content, c.scored, stream ? sent_ : 0);
    add_end(a, c, o);
    if (stream) {
      out.event(json::serialize(o));
      return out.end();
    }
    HttpResponse r;
    r.body = json::serialize(options_.fields.empty() ? o : chosen(o));
    out.respond(r);
  }

 private:
  json::object begun(const Answer& a, const Choice& c, const std::string& content,
                     const std::vector<ScoredToken>& scored, size_t from) const {
    json::array tokens;
    for (size_t i = from; options_.tokens && i < c.tokens.size(); i++)
      tokens.push_back(c.tokens[i]);
    json::object o = {{"index", 0},
                      {"content", content},
                      {"tokens", std::move(tokens)},
                      {"id_slot", -1},
                      {"tokens_predicted", c.tokens.size()},
                      {"tokens_evaluated", a.prompt_tokens}};
    if (options_.probabilities && !scored.empty())
      o["completion_probabilities"] = to_json(scored, tokenizer_, true);
    return o;
  }

  void add_end(const Answer& a, const Choice& c, json::object& o) const {
    const int match = c.stream.stop();
    const bool limit = finish_reason(c) == "length";
    const std::string_view type = match >= 0 ? "word" : limit ? "limit" : "eos";
    o["stop"] = true;
    o["model"] = a.model.name;
    o["tokens_predicted"] = a.generated_tokens();
    o["generation_settings"] = settings(a.wishes);
    o["prompt"] = printable(tokenizer_.decode(prompt_, false));
    o["has_new_line"] = c.message.content.find('\n') != std::string::npos;
    o["truncated"] = false;
    o["stop_type"] = type;
    o["stopping_word"] = match >= 0 ? a.wishes.stops[static_cast<size_t>(match)] : std::string();
    o["tokens_cached"] = a.cached_tokens();
    o["timings"] = timings(c.end.stats);
  }

  static json::object timings_now(const Answer& a, const Choice& c) {
    return {{"prompt_n", a.prompt_tokens}, {"predicted_n", c.tokens.size()}};
  }

  static json::object settings(const Wishes& w) {
    const SamplingParams& p = w.sampling;
    json::array stops;
    for (const std::string& s : w.stops) stops.emplace_back(s);
    return {{"n_predict", p.max_tokens},
            {"seed", p.seed.value_or(0)},
            {"temperature", p.temperature},
            {"top_k", p.top_k},
            {"top_p", p.top_p},
            {"min_p", p.min_p},
            {"repeat_penalty", p.repetition_penalty},
            {"repeat_last_n", p.repeat_last_n},
            {"presence_penalty", p.presence_penalty},
            {"frequency_penalty", p.frequency_penalty},
            {"dry_multiplier", p.dry_multiplier},
            {"ignore_eos", p.ignore_eos},
            {"n_probs", p.logprobs},
            {"stop", std::move(stops)},
            {"stream", w.stream}};
  }

  // "a/b" is the field b of the object a, and comes out as b.
  json::object chosen(const json::object& all) const {
    json::object some;
    for (const std::string& path : options_.fields) {
      const size_t slash = path.find('/');
      const json::value* v = all.if_contains(path.substr(0, slash));
      if (v == nullptr) continue;
      if (slash == std::string::npos) {
        some[path] = *v;
      } else if (v->is_object()) {
        const std::string name = path.substr(slash + 1);
        if (const json::value* inner = v->get_object().if_contains(name)) some[name] = *inner;
      }
    }
    return some;
  }

  const Tokenizer& tokenizer_;
  const std::vector<int32_t> prompt_;
  const NativeOptions options_;
  size_t sent_ = 0;  // tokens that an event carried
};

Status refuse_unsupported(const Fields& f) {
  for (const char* name : {"post_sampling_probs", "return_progress"}) {
    TRY(const auto v, f.boolean(name));
    if (v.value_or(false)) return f.unsupported(name, "only false");
  }
  TRY(const auto answers, f.integer("n_cmpl", 1, 1 << 20));
  TRY(const auto n, f.integer("n", 1, 1 << 20));
  if (answers.value_or(1) != 1 || n.value_or(1) != 1)
    return f.unsupported("n_cmpl", "only 1; /v1/completions gives several answers");
  return Ok{};
}

Result<NativeOptions> read_options(const Fields& f, Wishes& w) {
  NativeOptions o;
  TRY(const auto scores, f.integer("n_probs", 0, kMaxTopLogprobs));
  o.probabilities = w.logprobs = scores.value_or(0) > 0;
  w.sampling.logprobs = static_cast<int32_t>(scores.value_or(0));
  TRY(const auto tokens, f.boolean("return_tokens"));
  TRY(const auto each, f.boolean("timings_per_token"));
  o.tokens = tokens.value_or(false), o.timings = each.value_or(false);
  TRY(const json::array* fields, f.array("response_fields"));
  if (fields == nullptr) return o;
  for (const json::value& v : *fields) {
    if (!v.is_string()) return f.wrong("response_fields", "strings", v);
    o.fields.emplace_back(v.get_string());
  }
  return o;
}

}  // namespace

Status run_native(Api& api, const std::shared_ptr<Exchange>& x, const json::object& body,
                  std::vector<int32_t> prompt, std::vector<int32_t> stop_tokens) {
  const Fields f(body);
  const ChatModel& chat = *api.model.chat;
  TRY_OK(check_model(body, api.model));
  TRY_OK(refuse_unsupported(f));
  TRY(Wishes wishes, read_wishes(body, api.model, api.options));
  TRY(NativeOptions options, read_options(f, wishes));
  if (prompt.empty()) return f.wrong("prompt", "at least one token", json::value(""));
  wishes.sampling.stop_tokens = std::move(stop_tokens);
  GenerationPlan plan;
  plan.prompt_field = "prompt";
  plan.wording = std::make_unique<NativeWording>(chat, prompt, std::move(options));
  plan.prompts.push_back({std::move(prompt), ""});
  MessageOptions plain;
  plain.parse = false;
  plan.answer = [&chat, stops = wishes.stops, plain] { return MessageStream(chat, stops, plain); };
  plan.wishes = std::move(wishes);
  generate(api, x, std::move(plan));
  return Ok{};
}

Result<std::vector<int32_t>> read_mixed_prompt(const Api& api, const json::value& prompt,
                                               std::string_view name, EncodeOptions how) {
  const json::array one = {prompt};
  const json::array& parts = prompt.is_array() ? prompt.get_array() : one;
  std::vector<int32_t> tokens;
  for (const json::value& v : parts) {
    if (v.is_string()) {
      TRY(const auto ids, api.model.chat->tokenizer->encode(v.get_string(), how));
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    } else {
      const auto id = whole_number(v);
      if (!id || *id < 0 || *id >= api.model.vocab)
        return Error{Code::kInvalid, cat(name, ": expected texts or token ids from 0 to ",
                                         api.model.vocab - 1, ", found ", describe(v))};
      tokens.push_back(static_cast<int32_t>(*id));
    }
    how.add_special = false;
  }
  return tokens;
}

}  // namespace mlxcel::server
