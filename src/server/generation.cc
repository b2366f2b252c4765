#include "server/generation.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>

#include "base/cat.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/scored_tokens.h"
#include "text/utf8.h"

namespace mlxcel::server {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

double milliseconds(Clock::duration d) { return Milliseconds(d).count(); }

double per_second(int64_t n, Clock::duration d) {
  return n > 0 && d.count() > 0 ? 1000.0 * static_cast<double>(n) / milliseconds(d) : 0;
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
        answer_{random_id(wording_.id_prefix()),
                seconds_since_1970(),
                api.model,
                wishes_,
                {},
                0,
                nullptr} {}

  void run() {
    answer_.abandon = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->abandon();
    };
    if (!plan_.background) exchange_->on_gone(answer_.abandon);
    const std::lock_guard lock(mutex_);
    auto& choices = answer_.choices;
    for (const Prompt& p : plan_.prompts) {
      answer_.prompt_tokens += static_cast<int64_t>(p.tokens.size());
      for (int32_t i = 0; i < wishes_.choices; i++) {
        choices.push_back(
            std::make_unique<Choice>(static_cast<int32_t>(choices.size()), plan_.answer()));
        choices.back()->message.content = choices.back()->unsent.content = p.echo;
      }
    }
    left_ = choices.size();
    for (size_t i = 0; i < choices.size(); i++) {
      const size_t from = i / wishes_.choices;
      const auto id =
          submit(*choices[i], plan_.prompts[from], static_cast<uint32_t>(i % wishes_.choices));
      if (!id) return fail(to_api_error(id.error()));
      ids_.push_back(*id);
    }
    if (over_) return cancel_all();  // the client had gone before
    began_ = wishes_.stream;
    if (began_) exchange_->start_events();
    wording_.begin(answer_, *exchange_);
  }

  void abandon() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(over_, true)) return;
    wording_.abandon(answer_, *exchange_);
    cancel_all();
  }

 private:
  Result<RequestId> submit(Choice& c, const Prompt& prompt, uint32_t number) {
    auto activity = std::make_shared<Activity>();
    activity->request_id = exchange_->request.id;
    activity->prompt_tokens = static_cast<int32_t>(prompt.tokens.size());
    activity->since = Clock::now();
    if (!api_.options.slot_folder.empty()) activity->tokens = prompt.tokens;
    Request r;
    r.tokens = prompt.tokens;
    r.sampling = wishes_.sampling;
    r.choice = number;
    r.prefix_cache = wishes_.prefix_cache;
    r.deadline =
        Clock::now() + (wishes_.time.count() > 0
                            ? wishes_.time
                            : std::chrono::seconds(api_.options.settings->get().request_timeout));
    r.on_token = [self = shared_from_this(), &c, activity](const TokenEvent& e) {
      activity->generated++;
      if (!activity->tokens.empty()) activity->tokens.push_back(e.token);
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
    c.tokens.push_back(e.token);
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
    add_blocks(c, more);
    if (wishes_.stream) c.unsent.append(more);
  }

  void add_blocks(Choice& c, const text::ParsedMessage& more) {
    add_block(c, Block::Kind::kReasoning, more.reasoning);
    add_block(c, Block::Kind::kText, more.content);
    size_t next = c.call_ids.size();
    for (const text::ToolCall& call : more.calls) next -= call.more ? 0 : 1;
    for (const text::ToolCall& call : more.calls) {
      if (call.more) {
        add_block(c, Block::Kind::kCall, call.arguments);
      } else {
        c.blocks.push_back({Block::Kind::kCall, call.arguments, c.call_ids[next++], call.name});
        add_delta(c, {c.blocks.size() - 1, true, call.arguments});
      }
    }
  }
  void add_block(Choice& c, Block::Kind kind, const std::string& text) {
    if (text.empty()) return;
    const bool opens = c.blocks.empty() || c.blocks.back().kind != kind;
    if (opens) c.blocks.push_back({kind, "", "", ""});
    c.blocks.back().text += text;
    add_delta(c, {c.blocks.size() - 1, opens, text});
  }
  void add_delta(Choice& c, BlockDelta d) {
    if (wishes_.stream) c.deltas.push_back(std::move(d));
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
      wording_.last(answer_, c, *exchange_);
    }
    if (left_ == 0) finish();
  }

  // ---- the answer

  void send_piece(Choice& c) {
    wording_.piece(answer_, c, *exchange_);
    for (const text::ToolCall& call : c.unsent.calls) c.sent_calls += call.more ? 0 : 1;
    c.unsent = {}, c.unscored.clear(), c.deltas.clear();
  }

  void finish() {
    over_ = true;
    wording_.finish(answer_, *exchange_);
  }

  // One error for all choices; those that still run are cancelled.
  void fail(const ApiError& error) {
    over_ = true;
    cancel_all();
    wording_.fail(answer_, error, began_, *exchange_);
  }

  void cancel_all() {
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

  std::mutex mutex_;  // of what follows
  Answer answer_;
  std::vector<RequestId> ids_;
  size_t left_ = 0;     // choices that are not done
  bool began_ = false;  // of a stream: its head was sent
  bool over_ = false;   // answered, failed, or the client left
};

int64_t sum(const Answer& a, int64_t (*of)(const Choice&)) {
  int64_t n = 0;
  for (const auto& c : a.choices) n += of(*c);
  return n;
}

}  // namespace

int64_t Answer::generated_tokens() const {
  return sum(*this, [](const Choice& c) -> int64_t { return c.end.stats.generated_tokens; });
}

int64_t Answer::cached_tokens() const {
  int64_t most = 0;  // choices of one prompt share it
  for (const auto& c : choices) most = std::max<int64_t>(most, c->end.stats.cached_tokens);
  return most;
}

int64_t Answer::reasoning_tokens() const {
  return sum(*this, [](const Choice& c) -> int64_t { return c.reasoning_tokens; });
}

void Wording::fail(const Answer&, const ApiError& error, bool began, Exchange& out) {
  if (!began) return out.respond(to_response(error));
  out.event(json::serialize(to_json(error)));
  out.end();
}

int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
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

void generate(Api& api, std::shared_ptr<Exchange> exchange, GenerationPlan plan) {
  const auto refuse = [&](const ApiError& error) {
    const Answer none{"", 0, api.model, plan.wishes, {}, 0, nullptr};
    plan.wording->fail(none, error, false, *exchange);
  };
  for (const Prompt& p : plan.prompts) {
    const auto found = static_cast<int64_t>(p.tokens.size());
    const int64_t most = api.model.context - (plan.wishes.sampling.max_tokens != 0);
    if (found <= most) continue;
    return refuse({400,
                   cat("the context holds ", api.model.context, " tokens, the prompt has ", found),
                   "context_length_exceeded", plan.prompt_field});
  }
  if (api.draining) return refuse({503, "the server is shutting down", "shutting_down"});
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
