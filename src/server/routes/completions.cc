// POST /v1/completions: text, several texts, or token ids, continued as they are.
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "server/choices_wording.h"
#include "server/gap_prompt.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

class TextWording final : public ChoicesWording {
 public:
  TextWording(const Tokenizer& tokenizer, bool logprobs)
      : tokenizer_(tokenizer), logprobs_(logprobs) {}

  std::string_view object(bool) const override { return "text_completion"; }
  std::string id_prefix() const override { return "cmpl-"; }

  json::object choice(const Choice& c) override {
    return entry(c, c.message.content, c.scored, json::string(finish_reason(c)));
  }
  json::object next_chunk(const Choice& c) override {
    return entry(c, c.unsent.content, c.unscored, nullptr);
  }
  json::object last_chunk(const Choice& c) override {
    return entry(c, "", {}, json::string(finish_reason(c)));
  }

 private:
  json::object entry(const Choice& c, const std::string& text,
                     const std::vector<ScoredToken>& scored, json::value reason) {
    return {{"index", c.index},
            {"text", text},
            {"logprobs", logprobs_ ? json::value(logprobs(c, scored)) : json::value()},
            {"finish_reason", std::move(reason)}};
  }
  std::string word(int32_t token) const { return printable(tokenizer_.piece(token)); }

  // Offsets are in characters of the text that the words make.
  json::object logprobs(const Choice& c, const std::vector<ScoredToken>& scored) {
    json::array tokens, values, tops, offsets;
    int64_t& offset = offsets_[c.index];
    for (const ScoredToken& d : scored) {
      const std::string its_word = word(d.token);
      tokens.emplace_back(its_word);
      offsets.emplace_back(offset);
      offset += characters(its_word);
      if (d.first) {
        values.emplace_back(nullptr), tops.emplace_back(nullptr);
        continue;
      }
      values.emplace_back(json_logprob(d.logprob));
      json::object top;
      for (const TokenLogprob& t : d.top) top.emplace(word(t.token), json_logprob(t.logprob));
      top[its_word] = json_logprob(d.logprob);
      tops.push_back(std::move(top));
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  }
  static int64_t characters(std::string_view text) {
    return std::count_if(text.begin(), text.end(),
                         [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  }

  const Tokenizer& tokenizer_;
  const bool logprobs_;
  std::map<int32_t, int64_t> offsets_;  // of each choice's next token
};

Result<Prompt> of_text(const Api& api, std::string_view text) {
  Prompt p;
  TRY(p.tokens, api.model.chat->tokenizer->encode(text));
  p.echo = text;
  return p;
}

Result<Prompt> of_ids(const Api& api, const json::array& ids) {
  Prompt p;
  for (const json::value& v : ids) {
    const auto id = whole_number(v);
    if (!id || *id < 0 || *id >= api.model.vocab)
      return Error{Code::kInvalid, cat("prompt: expected token ids from 0 to ", api.model.vocab - 1,
                                       ", found ", describe(v))};
    p.tokens.push_back(static_cast<int32_t>(*id));
  }
  p.echo = api.model.chat->tokenizer->decode(p.tokens);
  return p;
}

Result<std::vector<Prompt>> read_prompts(const Api& api, const Fields& f) {
  const json::value* v = f.find("prompt");
  std::vector<Prompt> prompts;
  if (v != nullptr && v->is_string()) {
    TRY(Prompt p, of_text(api, v->get_string()));
    prompts.push_back(std::move(p));
  } else if (v != nullptr && v->is_array() && !v->get_array().empty()) {
    const json::array& list = v->get_array();
    if (list[0].is_number()) {
      TRY(Prompt p, of_ids(api, list));
      prompts.push_back(std::move(p));
    } else {
      for (const json::value& one : list) {
        if (one.kind() != list[0].kind() || !(one.is_string() || one.is_array()))
          return f.wrong("prompt", "strings only or lists of token ids only", one);
        TRY(Prompt p,
            one.is_string() ? of_text(api, one.get_string()) : of_ids(api, one.get_array()));
        prompts.push_back(std::move(p));
      }
    }
  } else {
    return f.wrong("prompt", "a string, a list of strings, or token ids",
                   v == nullptr ? json::value() : *v);
  }
  for (const Prompt& p : prompts)
    if (p.tokens.empty())
      return Error{Code::kInvalid, "prompt: expected at least one token, found none"};
  return prompts;
}

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  constexpr int64_t kMostLogprobs = 5, kUsualLength = 16;  // OpenAI's
  TRY(const json::object body, parse_body(x->request.body));
  const Fields f(body);
  TRY_OK(check_model(body, api.model));
  TRY(Wishes wishes, read_wishes(body, api.model, api.options));
  if (f.find("max_tokens") == nullptr && f.find("max_completion_tokens") == nullptr &&
      f.find("n_predict") == nullptr && api.defaults().max_tokens == kNoTokenLimit)
    wishes.sampling.max_tokens = kUsualLength;
  TRY(const auto logprobs, f.integer("logprobs", 0, kMostLogprobs));
  wishes.logprobs = logprobs.has_value();
  wishes.sampling.logprobs = static_cast<int32_t>(logprobs.value_or(0));
  TRY(const auto echo, f.boolean("echo"));
  TRY(const auto suffix, f.string("suffix"));
  std::vector<Prompt> prompts;
  const bool gap = suffix && !suffix->empty();
  if (gap) {
    TRY(const auto before, f.string("prompt"));
    if (!before) return f.wrong("prompt", "a string beside suffix", json::value());
    TRY(GapPrompt between, gap_prompt(*api.model.chat->tokenizer, *before, *suffix, {}, "suffix"));
    prompts.push_back({std::move(between.tokens), *before});
    wishes.sampling.stop_tokens = std::move(between.stop_tokens);
  } else {
    TRY(prompts, read_prompts(api, f));
  }
  const auto choices = static_cast<int64_t>(prompts.size()) * wishes.choices;
  if (choices > api.options.max_choices)
    return Error{Code::kInvalid, cat("prompt: expected at most ", api.options.max_choices,
                                     " prompts times n, found ", choices)};
  for (Prompt& p : prompts) {
    if (!echo.value_or(false)) p.echo.clear();
    p.echo_scores = echo.value_or(false) && wishes.logprobs && !gap;
  }
  GenerationPlan plan;
  plan.prompts = std::move(prompts);
  plan.wording = std::make_unique<TextWording>(*api.model.chat->tokenizer, wishes.logprobs);
  MessageOptions plain;
  plain.parse = false;
  plan.answer = [&chat = *api.model.chat, stops = wishes.stops, plain] {
    return MessageStream(chat, stops, plain);
  };
  plan.prompt_field = "prompt";
  plan.wishes = std::move(wishes);
  generate(api, x, std::move(plan));
  return Ok{};
}

}  // namespace

void completions(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
