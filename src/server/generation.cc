#include "server/generation.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>

#include "base/cat.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/prompt_scores.h"
#include "text/utf8.h"

namespace mlxcel::server {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

double milliseconds(Clock::duration d) { return Milliseconds(d).count(); }

double per_second(int64_t n, Clock::duration d) {
  return n > 0 && d.count() > 0 ? 1000.0 * static_cast<double>(n) / milliseconds(d) : 0;
}

std::string random_id(std::string_view prefix) {
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 24; i++) id += kLetters[random() % kLetters.size()];
  return id;
}

json::object timings(const RequestStats& s) {
  const auto prefill = s.first_token - s.started, decode = s.finished - s.first_token;
  const bool drew = s.generated_tokens > 0;
  return {{"queue_ms", milliseconds(s.started - s.submitted)},
          {"prompt_n", s.prompt_tokens - s.cached_tokens},
          {"prompt_ms", drew ? milliseconds(prefill) : 0},
          {"prompt_per_second", drew ? per_second(s.prompt_tokens - s.cached_tokens, prefill) : 0},
          {"predicted_n", s.generated_tokens},
          {"predicted_ms", drew ? milliseconds(decode) : 0},
          {"predicted_per_second", drew ? per_second(s.generated_tokens - 1, decode) : 0},
          {"ttft_ms", drew ? milliseconds(s.first_token - s.submitted) : 0},
          {"cache_n", s.cached_tokens},
          {"preemptions", s.preemptions},
          {"seed", s.seed}};
}

// Callbacks come from the engine's thread, submission and disconnects from HTTP threads; the mutex
// orders them.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(Api& api, std::shared_ptr<Exchange> exchange, GenerationPlan plan)
      : api_(api),
        exchange_(std::move(exchange)),
        plan_(std::move(plan)),
        wishes_(plan_.wishes),
        wording_(*plan_.wording),
        id_(random_id(wording_.id_prefix())),
        created_(std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count()) {}

  void run() {
    exchange_->on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->cancel();
    });
    const std::lock_guard lock(mutex_);
    for (const Prompt& p : plan_.prompts) {
      prompt_tokens_ += static_cast<int64_t>(p.tokens.size());
      for (int32_t i = 0; i < wishes_.choices; i++) {
        choices_.push_back(
            std::make_unique<Choice>(static_cast<int32_t>(choices_.size()), plan_.answer()));
        choices_.back()->message.content = choices_.back()->unsent.content = p.echo;
      }
    }
    left_ = choices_.size();
    for (size_t i = 0; i < choices_.size(); i++) {
      const size_t from = i / wishes_.choices;
      const auto id =
          submit(*choices_[i], plan_.prompts[from], static_cast<uint32_t>(i % wishes_.choices));
      if (!id) return fail(to_api_error(id.error()));
      ids_.push_back(*id);
    }
    if (wishes_.stream) exchange_->start_events();
  }

 private:
  Result<RequestId> submit(Choice& c, const Prompt& prompt, uint32_t number) {
    auto activity = std::make_shared<Activity>();
    activity->request_id = exchange_->request.id;
    activity->prompt_tokens = static_cast<int32_t>(prompt.tokens.size());
    activity->since = Clock::now();
    Request r;
    r.tokens = prompt.tokens;
    r.sampling = wishes_.sampling;
    r.choice = number;
    r.deadline = Clock::now() + (wishes_.time.count() > 0
                                     ? wishes_.time
                                     : std::chrono::milliseconds(api_.options.request_time));
    r.on_token = [self = shared_from_this(), &c, activity](const TokenEvent& e) {
      activity->generated++;
      return self->on_token(c, e);
    };
    r.on_finish = [self = shared_from_this(), &c, activity](const FinishEvent& e) {
      self->api_.metrics->finished(e);  // counted before anybody is told
      self->api_.end(activity);
      self->on_finish(c, e);
    };
    if (prompt.echo_scores) {
      r.logits_from = 0;
      r.on_logits = [self = shared_from_this(), &c, &prompt](int32_t position,
                                                             std::span<const float> logits) {
        self->on_prompt_logits(c, prompt, position, logits);
      };
    }
    auto id = api_.service.submit(std::move(r));
    if (id) api_.begin(activity);
    return id;
  }

  bool on_token(Choice& c, const TokenEvent& e) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (c.end.stats.generated_tokens++ > 0)
      api_.metrics->between_tokens(milliseconds(now - c.last_token) / 1000);
    c.last_token = now;
    if (e.end || over_) return true;  // whoever is over was cancelled too
    const bool reasoned = c.stream.in_reasoning();
    add(c, c.stream.push(e.token));
    c.reasoning_tokens += static_cast<int32_t>(reasoned || c.stream.in_reasoning());
    if (wishes_.logprobs) {
      ScoredToken t = {e.token, e.sample->logprob, {}};
      for (int i = 0; i < wishes_.sampling.logprobs && e.sample->top[i].token >= 0; i++)
        t.top.push_back(e.sample->top[i]);
      add(c, std::move(t));
    }
    if (wishes_.stream && !c.unsent.empty()) send_piece(c);
    return !c.stream.stopped() && !c.enough;
  }

  void on_prompt_logits(Choice& c, const Prompt& p, int32_t position,
                        std::span<const float> logits) {
    const std::lock_guard lock(mutex_);
    const auto next = static_cast<size_t>(position) + 1;
    if (over_) return;
    if (position == 0) add(c, ScoredToken{p.tokens[0], 0, {}, true});
    if (next < p.tokens.size())
      add(c, score_token(logits, p.tokens[next], wishes_.sampling.logprobs));
  }

  void add(Choice& c, ScoredToken t) {
    (wishes_.stream ? c.unscored : c.scored).push_back(std::move(t));
  }

  void add(Choice& c, text::ParsedMessage more) {
    if (c.enough) return;
    for (auto call = more.calls.begin(); call != more.calls.end(); ++call) {
      if (call->more) continue;
      if (plan_.one_call && !c.call_ids.empty()) {  // a second call: no part of the answer
        more.calls.erase(call, more.calls.end());
        c.enough = true;
        break;
      }
      c.call_ids.push_back(call->id.empty() ? random_id("call_") : call->id);
    }
    c.message.append(more);
    if (wishes_.stream) c.unsent.append(more);
  }

  void on_finish(Choice& c, const FinishEvent& e) {
    const std::lock_guard lock(mutex_);
    c.end = e, c.done = true;
    left_--;
    log_end(e);
    if (over_) return;
    if (e.reason == FinishReason::kError) return fail({500, e.message, "engine_error"});
    if (e.reason == FinishReason::kTimeout)
      return fail({504, "the request's time is over", "timeout"});
    if (e.reason == FinishReason::kCancelled)
      return fail({503, "the server is shutting down", "shutting_down"});
    add(c, c.stream.finish());
    if (wishes_.stream) {
      if (!c.unsent.empty() || !c.unscored.empty()) send_piece(c);
      send_last(c);
    }
    if (left_ == 0) finish();
  }

  // ---- the answer

  json::object envelope(bool chunk) const {
    return {{"id", id_},
            {"object", wording_.object(chunk)},
            {"created", created_},
            {"model", api_.model.name},
            {"system_fingerprint", api_.model.fingerprint}};
  }

  json::object usage() const {
    int64_t generated = 0, cached = 0, reasoning = 0;
    for (const auto& c : choices_) {
      reasoning += c->reasoning_tokens;
      generated += c->end.stats.generated_tokens;
      cached = std::max<int64_t>(cached, c->end.stats.cached_tokens);
    }
    return {{"prompt_tokens", prompt_tokens_},
            {"completion_tokens", generated},
            {"total_tokens", prompt_tokens_ + generated},
            {"prompt_tokens_details", json::object{{"cached_tokens", cached}}},
            {"completion_tokens_details", json::object{{"reasoning_tokens", reasoning}}}};
  }

  void send(json::object choice, const Choice* ended = nullptr) {
    json::object o = envelope(true);
    o["choices"] = json::array{std::move(choice)};
    if (wishes_.include_usage) o["usage"] = nullptr;
    if (ended != nullptr) o["timings"] = timings(ended->end.stats);
    exchange_->event(json::serialize(o));
  }

  void send_first(Choice& c) {
    if (std::exchange(c.started, true)) return;
    if (auto first = wording_.first(c)) send(std::move(*first));
  }

  void send_piece(Choice& c) {
    send_first(c);
    send(wording_.piece(c));
    for (const text::ToolCall& call : c.unsent.calls) c.sent_calls += call.more ? 0 : 1;
    c.unsent = {}, c.unscored.clear();
  }

  void send_last(Choice& c) {
    send_first(c);
    send(wording_.last(c), &c);
  }

  void finish() {
    over_ = true;
    if (wishes_.stream) {
      if (wishes_.include_usage) {
        json::object o = envelope(true);
        o["choices"] = json::array{};
        o["usage"] = usage();
        exchange_->event(json::serialize(o));
      }
      exchange_->event("[DONE]");
      return exchange_->end();
    }
    json::object o = envelope(false);
    json::array choices;
    for (const auto& c : choices_) choices.push_back(wording_.whole(*c));
    o["choices"] = std::move(choices);
    o["usage"] = usage();
    o["timings"] = timings(choices_.front()->end.stats);
    HttpResponse r;
    r.body = json::serialize(o);
    exchange_->respond(r);
  }

  // One error for all choices; those that still run are cancelled.
  void fail(const ApiError& error) {
    over_ = true;
    for (const RequestId id : ids_) api_.service.cancel(id);
    if (wishes_.stream) exchange_->event(json::serialize(to_json(error)));
    exchange_->respond(to_response(error));  // nothing, if the stream began
    exchange_->end();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    for (const RequestId id : ids_) api_.service.cancel(id);
  }

  void log_end(const FinishEvent& e) const {
    const RequestStats& s = e.stats;
    const bool drew = s.generated_tokens > 0;
    log_info(
        "request_done",
        {{"id", exchange_->request.id},
         {"path", exchange_->request.path},
         {"finish", name(e.reason)},
         {"prompt_tokens", s.prompt_tokens},
         {"cached_tokens", s.cached_tokens},
         {"tokens", s.generated_tokens},
         {"ttft_ms", drew ? std::round(milliseconds(s.first_token - s.submitted)) : 0},
         {"decode_tok_s",
          std::round(10 * per_second(s.generated_tokens - 1, s.finished - s.first_token)) / 10}});
  }

  Api& api_;
  const std::shared_ptr<Exchange> exchange_;
  const GenerationPlan plan_;
  const Wishes& wishes_;
  Wording& wording_;
  const std::string id_;
  const int64_t created_;

  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Choice>> choices_;
  std::vector<RequestId> ids_;
  size_t left_ = 0;    // choices that are not done
  bool over_ = false;  // answered, failed, or the client left
  int64_t prompt_tokens_ = 0;
};

}  // namespace

void generate(Api& api, std::shared_ptr<Exchange> exchange, GenerationPlan plan) {
  for (const Prompt& p : plan.prompts) {
    const auto found = static_cast<int64_t>(p.tokens.size());
    const int64_t most = api.model.context - (plan.wishes.sampling.max_tokens != 0);
    if (found <= most) continue;
    exchange->respond(to_response(
        {400, cat("the context holds ", api.model.context, " tokens, the prompt has ", found),
         "context_length_exceeded", "messages"}));
    return;
  }
  if (api.draining) {
    exchange->respond(to_response({503, "the server is shutting down", "shutting_down"}));
    return;
  }
  std::make_shared<Generation>(api, std::move(exchange), std::move(plan))->run();
}

std::string_view finish_reason(const Choice& c) {
  if (c.end.reason == FinishReason::kLength && !c.stream.stopped()) return "length";
  return c.message.calls.empty() ? "stop" : "tool_calls";
}

double json_logprob(float logprob) {
  constexpr double kImpossible = -9999;
  return std::isfinite(logprob) ? std::min<double>(logprob, 0) : kImpossible;
}

std::string printable(std::string_view bytes) { return to_utf8(bytes); }

}  // namespace mlxcel::server
