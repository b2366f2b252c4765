#include "engine/engine.h"

#include <algorithm>
#include <limits>

#include "base/cat.h"
#include "base/check.h"
#include "ops/device_error.h"

namespace mlxcel {
namespace {

constexpr size_t kNoMask = std::numeric_limits<size_t>::max();

}  // namespace

Engine::Engine(const Family& family, Backend& backend, const EngineOptions& options)
    : family_(family),
      backend_(backend),
      options_(options),
      kv_(family.facts().kv_groups, kv_pages(family.facts(), options),
          options.prefix_cache ? options.prefix_pages : 0, options.page_order_seed, &backend),
      scheduler_({options.max_rows, options.max_head_rows, options.max_sequences,
                  options.prefill_chunk, options.lookahead},
                 kv_) {
  // Segments point into tables_, which therefore never grows in a step.
  tables_.reserve(static_cast<size_t>(options.max_sequences) * kv_.groups());
}

Result<std::unique_ptr<Engine>> Engine::create(const Family& family, Backend& backend,
                                               const EngineOptions& wanted) {
  TRY(const EngineOptions options, complete(family.facts(), wanted));
  const StepLimits limits = {.rows = options.max_rows,
                             .head_rows = options.max_head_rows,
                             .sequences = options.max_sequences,
                             .positions = options.context,
                             .arena = options.arena_elements};
  TRY_OK(backend.open_kv(family.facts().kv_groups, kv_pages(family.facts(), options), limits));
  return std::unique_ptr<Engine>(new Engine(family, backend, options));
}

// ---- requests

// Tokens of prompt and output together, at most.
int32_t Engine::limit(const Request& request) const {
  const int64_t asked = request.sampling.max_tokens;
  if (asked < 0 || asked > options_.context) return options_.context;
  const int64_t all = static_cast<int64_t>(request.tokens.size()) + asked;
  return static_cast<int32_t>(std::min<int64_t>(options_.context, all));
}

Status Engine::check(const Request& request) const {
  const int64_t vocab = family_.facts().vocab;
  TRY_OK(mlxcel::check(request.sampling, vocab));
  const int64_t prompt = static_cast<int64_t>(request.tokens.size());
  const auto invalid = [](const auto&... what) { return Error{Code::kInvalid, cat(what...)}; };
  if (prompt == 0) return invalid("prompt: expected at least one token, found none");
  for (const int32_t t : request.tokens) {
    if (t < 0 || t >= vocab)
      return invalid("prompt: expected token ids from 0 to ", vocab - 1, ", found ", t);
  }
  const int64_t most = options_.context - (request.sampling.max_tokens != 0);
  if (prompt > most) {
    return invalid("prompt: expected at most ", most, " tokens (the context is ", options_.context,
                   "), found ", prompt);
  }
  if (request.logits_from < kNoLogits || request.logits_from >= prompt)
    return invalid("logits_from = ", request.logits_from, ": expected a position of the prompt");
  if (request.chunk < 0) return invalid("chunk = ", request.chunk, ": expected at least 0");
  return Ok{};
}

Result<RequestId> Engine::submit(Request request) {
  TRY_OK(check(request));
  const RequestId id = next_id();
  add(id, std::move(request));
  return id;
}

void Engine::add(RequestId id, Request request) {
  const int32_t most = limit(request);
  auto s = std::make_unique<Sequence>(id, std::move(request), most);
  with_deadline_ += s->request.deadline != Clock::time_point::max();
  scheduler_.add(*s);
  stats_.submitted++;
  stats_.prompt_tokens += static_cast<uint64_t>(s->prompt);
  sequences_.emplace(id, std::move(s));
}

void Engine::cancel(RequestId id) {
  const auto at = sequences_.find(id);
  if (at == sequences_.end() || at->second->cancelled) return;
  at->second->cancelled = true;
  cancelled_.push_back(id);
}

void Engine::reap_cancelled() {
  for (size_t i = 0; i < cancelled_.size(); i++) {  // callbacks may cancel more
    const auto at = sequences_.find(cancelled_[i]);
    if (at != sequences_.end() && !at->second->finished)
      finish(*at->second, FinishReason::kCancelled);
  }
  cancelled_.clear();
}

void Engine::reap_expired() {
  if (with_deadline_ == 0) return;
  const Clock::time_point now = Clock::now();
  expired_.clear();
  for (const auto& [id, s] : sequences_)
    if (!s->finished && s->request.deadline <= now) expired_.push_back(id);
  for (const RequestId id : expired_) finish(*sequences_.at(id), FinishReason::kTimeout);
}

// ---- a step

bool Engine::step() {
  reap_cancelled();
  reap_expired();
  scheduler_.plan(plan_);
  if (plan_.empty()) {
    CHECK(scheduler_.running() == 0 && scheduler_.waiting() == 0);
    destroy_finished();
    return false;
  }
  stats_.steps++;
  build_step();
  try {
    run_step();
    publish();
    failed_steps_ = 0;
  } catch (const DeviceError& e) {  // the only catch: the device failed these requests
    failed_steps_++;
    device_failure_ = e.message;
    for (const PlannedRows& p : plan_)
      if (!p.sequence->finished) finish(*p.sequence, FinishReason::kError, e.message);
  }
  destroy_finished();
  return true;
}

void Engine::build_step() {
  inputs_.clear(), positions_.clear(), segments_.clear(), tables_.clear();
  head_rows_.clear(), draw_rows_.clear(), logits_rows_.clear();
  draws_.clear(), edits_.clear(), edits_end_.clear(), masks_.clear(), mask_at_.clear();
  for (const PlannedRows& p : plan_) {
    Sequence& s = *p.sequence;
    s.last_step = stats_.steps;
    s.stats.steps++;
    const size_t first_table = tables_.size();
    for (const auto& pages : s.kv.pages) tables_.push_back(pages);
    Segment segment;
    segment.sequence = s.slot;
    segment.first_row = static_cast<int32_t>(inputs_.size());
    segment.rows = p.rows;
    segment.start = s.kv.positions;
    segment.tables = {tables_.data() + first_table, tables_.size() - first_table};
    segments_.push_back(segment);
    for (int32_t i = 0; i < p.rows; i++) {
      const int32_t position = s.kv.positions + i;
      const bool logits = s.wants_logits(position), draw = s.wants_draw(position);
      if (logits) logits_rows_.push_back(static_cast<int32_t>(head_rows_.size()));
      if (draw) draw_rows_.push_back(static_cast<int32_t>(head_rows_.size()));
      if (logits || draw) head_rows_.push_back(static_cast<int32_t>(inputs_.size()));
      inputs_.push_back({RowInput::Kind::kToken, s.tokens[position]});
      positions_.push_back(position);
      if (draw) build_draw(s);
    }
  }
  const size_t words = mask_words();
  for (size_t i = 0, begin = 0; i < draws_.size(); begin = edits_end_[i++]) {
    draws_[i].edits = {edits_.data() + begin, edits_end_[i] - begin};
    if (mask_at_[i] != kNoMask) draws_[i].allowed = std::span(masks_).subspan(mask_at_[i], words);
  }
  samples_.resize(draws_.size());
}

void Engine::build_draw(Sequence& s) {
  const SamplingParams& p = s.request.sampling;
  s.penalties.edits(edits_);
  edits_end_.push_back(edits_.size());
  mask_at_.push_back(kNoMask);
  if (s.request.mask != nullptr) {
    masks_.resize(masks_.size() + mask_words());
    if (s.request.mask->fill(std::span(masks_).last(mask_words())))
      mask_at_.back() = masks_.size() - mask_words();
  }
  SampleRow row;
  row.temperature = p.temperature;
  row.top_k = p.top_k;
  // The seam keeps tokens with less mass than top_p before them: at 0 that would be none.
  row.top_p = std::max(p.top_p, std::numeric_limits<float>::min());
  row.min_p = p.min_p;
  row.key = {s.stats.seed, s.request.choice, static_cast<uint64_t>(s.tokens.size())};
  row.sequence = s.slot;
  row.top_logprobs = p.logprobs;
  draws_.push_back(row);
}

void Engine::run_step() {
  Step step;
  step.inputs = inputs_;
  step.positions = positions_;
  step.segments = segments_;
  step.head_rows = head_rows_;
  backend_.begin(step);
  const Tensor hidden = family_.forward(backend_, step);  // [rows, dim]
  if (!head_rows_.empty()) {
    const Tensor logits =
        family_.head(backend_, backend_.take_rows(hidden, head_rows_));  // [heads, vocab]
    const auto some = [&](std::span<const int32_t> rows) {
      return rows.size() == head_rows_.size() ? logits : backend_.take_rows(logits, rows);
    };
    if (!draws_.empty()) backend_.sample(some(draw_rows_), draws_, samples_);
    if (!logits_rows_.empty()) {
      logits_.resize(logits_rows_.size() * family_.facts().vocab);
      backend_.read(some(logits_rows_), logits_);
    }
  }
  backend_.end();
  stats_.rows += inputs_.size();
  stats_.head_rows += head_rows_.size();
}

void Engine::publish() {
  size_t draw = 0, logits = 0;
  for (const PlannedRows& p : plan_) {
    Sequence& s = *p.sequence;
    const bool drawn = s.wants_draw(s.kv.positions + p.rows - 1);
    report_logits(s, p.rows, &logits);
    const Sample* sample = drawn ? &samples_[draw++] : nullptr;
    if (s.cancelled) continue;  // by a callback; the next step ends it
    if (sample != nullptr && sample->token < 0) {
      finish(s, FinishReason::kError,
             cat("token ", s.tokens.size(), ": the logits hold a NaN, or no token is allowed"));
      continue;
    }
    kv_.advance(s.kv, s.tokens, p.rows);
    if (sample != nullptr) {
      accept(s, *sample);
    } else if (!s.draws() && s.pending() == 0) {
      finish(s, FinishReason::kLength);
    }
  }
}

void Engine::report_logits(Sequence& s, int32_t rows, size_t* row) {
  const size_t vocab = static_cast<size_t>(family_.facts().vocab);
  for (int32_t end = s.kv.positions + rows; s.next_logits != kNoLogits && s.next_logits < end;) {
    const int32_t position = s.next_logits++;
    const std::span<const float> logits(logits_.data() + (*row)++ * vocab, vocab);
    if (s.request.on_logits && !s.cancelled) s.request.on_logits(position, logits);
  }
}

void Engine::accept(Sequence& s, const Sample& sample) {
  TokenEvent event = {.id = s.id,
                      .token = sample.token,
                      .position = static_cast<int32_t>(s.tokens.size()),
                      .end = ends(s.request.sampling, sample.token),
                      .sample = &sample};
  s.tokens.push_back(sample.token);
  s.penalties.push(sample.token);
  if (s.request.mask != nullptr) s.request.mask->accept(sample.token);
  if (s.stats.generated_tokens++ == 0) s.stats.first_token = Clock::now();
  stats_.generated_tokens++;
  const bool more = !s.request.on_token || s.request.on_token(event);
  if (s.cancelled) return;
  if (event.end || !more) {
    finish(s, FinishReason::kStop);
  } else if (static_cast<int32_t>(s.tokens.size()) >= s.limit) {
    finish(s, FinishReason::kLength);
  }
}

// Gives everything back at once; the sequence itself lives until the end of the step.
void Engine::finish(Sequence& s, FinishReason reason, std::string message) {
  scheduler_.remove(s);
  s.finished = true;
  s.stats.finished = Clock::now();
  with_deadline_ -= s.request.deadline != Clock::time_point::max();
  stats_.finished++;
  stats_.failed += reason == FinishReason::kError;
  stats_.cancelled += reason == FinishReason::kCancelled;
  stats_.cached_tokens += s.stats.cached_tokens;
  finished_.push_back(&s);
  if (s.request.on_finish) s.request.on_finish({s.id, reason, std::move(message), s.stats});
}

void Engine::destroy_finished() {
  for (const Sequence* s : finished_) sequences_.erase(s->id);
  finished_.clear();
}

// ---- looking in

EngineStats Engine::stats() const {
  EngineStats s = stats_;
  s.preemptions = scheduler_.preemptions();
  s.running = scheduler_.running();
  s.waiting = scheduler_.waiting();
  s.pages = kv_.pool(0).size();
  s.pages_free = kv_.pool(0).free();
  s.pages_idle = kv_.pool(0).idle();
  s.prefix_nodes = kv_.prefix_cache().nodes();
  return s;
}

// Whether a request of a whole context still finds pages beside those that are held and `more`.
bool Engine::leaves_a_context(std::span<const int32_t> more) const {
  for (int g = 0; g < kv_.groups(); g++) {
    int32_t held = more[g];
    for (const KvTables& kv : held_) held += kv_.held(kv, g);
    const int32_t one = kv_.needed(g, options_.context, options_.prefill_chunk);
    if (held + one > kv_.pool(g).size()) return false;
  }
  return true;
}

Result<KvTables*> Engine::hold_known(std::span<const int32_t> tokens) {
  const Error none = {Code::kNotFound, "kv: expected a prompt that the prefix cache holds"};
  if (!kv_.prefix_cache().enabled()) return none;
  KvTables& kv = held_.emplace_back();
  const auto all = static_cast<int32_t>(tokens.size());
  kv_.attach(kv, "", tokens, all / kPagePositions * kPagePositions, true, {});
  if (const int32_t whole = kv.node_pages * kPagePositions; kv.positions > whole) {
    kv_.release(kv);  // a part of a page came along: without it a window begins elsewhere
    kv_.attach(kv, "", tokens, whole, true, {});
  }
  const bool known = kv.node_pages > 0;
  if (known && leaves_a_context(std::vector<int32_t>(kv_.groups(), 0))) return &kv;
  let_go(&kv);
  return known ? Error{Code::kExhausted, "kv: expected room for one more context"} : none;
}

Result<KvTables*> Engine::hold_new(int32_t pages, std::span<const int32_t> first) {
  const Error full = {Code::kExhausted,
                      cat("kv: expected room for ", pages, " pages beside one context")};
  std::vector<int32_t> more;
  for (int g = 0; g < kv_.groups(); g++) {
    const int32_t latest = kv_.first_visible(g, pages * kPagePositions);
    if (first[g] > latest)
      return Error{Code::kCorrupt, cat("kv: expected pages of group ", g, " from ", latest,
                                       " on or earlier, found them from ", first[g])};
    more.push_back(pages - first[g]);
  }
  if (!kv_.prefix_cache().enabled() || !leaves_a_context(more)) return full;
  KvTables& kv = held_.emplace_back();
  if (kv_.take_pages(kv, "", pages, first)) return &kv;
  held_.pop_back();
  return full;
}

void Engine::let_go(KvTables* held) {
  kv_.release(*held);
  held_.remove_if([&](const KvTables& kv) { return &kv == held; });
}

Status Engine::check_integrity() const {
  std::vector<const KvTables*> tables;
  for (const KvTables& kv : held_) tables.push_back(&kv);
  for (const auto& [id, s] : sequences_) {
    tables.push_back(&s->kv);
    if (s->kv.positions > static_cast<int32_t>(s->tokens.size()))
      return Error{Code::kCorrupt, cat("engine: ", id, " has more positions than tokens")};
  }
  TRY_OK(kv_.check(tables));
  TRY_OK(scheduler_.check());
  if (scheduler_.running() + scheduler_.waiting() != sequences_.size())
    return Error{Code::kCorrupt, cat("engine: ", sequences_.size(), " sequences, scheduled ",
                                     scheduler_.running() + scheduler_.waiting())};
  if (failed_steps_ >= kFailedSteps)
    return Error{Code::kDevice, cat("engine: the device failed ", failed_steps_,
                                    " steps in a row: ", device_failure_)};
  return Ok{};
}

}  // namespace mlxcel
