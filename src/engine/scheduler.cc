#include "engine/scheduler.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace mlxcel {

Scheduler::Scheduler(const SchedulerLimits& limits, KvCache& kv)
    : limits_(limits), kv_(kv), want_(kv.groups()) {
  CHECK(limits.rows > limits.sequences && limits.head_rows > limits.sequences);
  for (int32_t s = limits.sequences - 1; s >= 0; s--) slots_.push_back(s);
  running_.reserve(limits.sequences);
}

void Scheduler::plan(std::vector<PlannedRows>& out) {
  out.clear();
  rows_left_ = limits_.rows;
  heads_left_ = limits_.head_rows;
  const uint64_t preemptions = preemptions_;
  // Preemption takes sequences off the end of running_, never one before i.
  for (size_t i = 0; i < running_.size(); i++)
    if (running_[i]->pending() == 1) place(*running_[i], out);
  for (size_t i = 0; i < running_.size(); i++)
    if (running_[i]->pending() > 1) place(*running_[i], out);
  while (preemptions == preemptions_ && !waiting_.empty() && !slots_.empty() && rows_left_ > 0 &&
         heads_left_ > 0) {
    if (!admit(*waiting_.front())) break;
    if (!place(*running_.back(), out)) break;
  }
  oldest_served_ = running_.empty() || std::any_of(out.begin(), out.end(), [&](const auto& p) {
                     return p.sequence == running_.front();
                   });
}

// Plans rows of a running sequence, at least one unless pages are missing.
bool Scheduler::place(Sequence& s, std::vector<PlannedRows>& out) {
  const int32_t chunk = s.request.chunk > 0 ? std::min(s.request.chunk, limits_.prefill_chunk)
                                            : limits_.prefill_chunk;
  int32_t rows = rows_within_heads(s, std::min({s.pending(), chunk, rows_left_}));
  while (rows > 0 && !kv_.grow(s.kv, s.kv.positions + rows)) {
    if (running_.back() != &s) {
      preempt_youngest(out);
    } else {
      rows = std::min(rows, kv_.room(s.kv) - s.kv.positions);
    }
  }
  if (rows <= 0) return false;
  rows_left_ -= rows;
  heads_left_ -= heads(s, rows);
  out.push_back({&s, rows});
  return true;
}

int32_t Scheduler::heads(const Sequence& s, int32_t rows) const {
  const int32_t end = s.kv.positions + rows;
  int32_t n = s.wants_logits(end - 1) ? end - std::max(s.kv.positions, s.next_logits) : 0;
  if (n == 0 && s.wants_draw(end - 1)) n = 1;
  return n;
}

// Heads come at the end of a chunk: a shorter one has as many fewer.
int32_t Scheduler::rows_within_heads(const Sequence& s, int32_t rows) const {
  while (rows > 0 && heads(s, rows) > heads_left_)
    rows -= std::max(1, heads(s, rows) - heads_left_);
  return rows;
}

void Scheduler::preempt_youngest(std::vector<PlannedRows>& out) {
  Sequence& victim = *running_.back();
  const auto planned = std::find_if(out.begin(), out.end(),
                                    [&](const PlannedRows& p) { return p.sequence == &victim; });
  if (planned != out.end()) {
    rows_left_ += planned->rows;
    heads_left_ += heads(victim, planned->rows);
    out.erase(planned);
  }
  retire(victim);
  victim.stats.preemptions++;
  preemptions_++;
  waiting_.push_front(&victim);
}

void Scheduler::retire(Sequence& s) {
  kv_.release(s.kv);
  running_.erase(std::find(running_.begin(), running_.end(), &s));
  slots_.push_back(s.slot);
  s.slot = -1;
}

void Scheduler::remove(Sequence& s) {
  if (s.slot >= 0) {
    retire(s);
  } else {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &s));
  }
}

// Pages of the group that the sequence will hold `lookahead` tokens of output from now.
int32_t Scheduler::projected(const Sequence& s, int group) const {
  const int64_t end = static_cast<int64_t>(s.tokens.size()) + limits_.lookahead;
  const int32_t positions = static_cast<int32_t>(std::min<int64_t>(end, s.limit));
  return kv_.needed(group, positions, limits_.prefill_chunk);
}

bool Scheduler::admit(Sequence& s) {
  want_.clear();
  if (!running_.empty()) {
    for (int g = 0; g < kv_.groups(); g++) {
      int32_t want = projected(s, g);
      for (const Sequence* r : running_) want += std::max(0, projected(*r, g) - kv_.held(r->kv, g));
      want_.push_back(want);
    }
  }
  if (!kv_.attach(s.kv, s.request.kv_key, s.tokens, s.reusable(), s.request.prefix_cache, want_))
    return false;
  for (auto& pages : s.kv.pages) pages.reserve(pages_for(s.limit));
  waiting_.pop_front();
  s.slot = slots_.back();
  slots_.pop_back();
  running_.push_back(&s);
  if (s.stats.preemptions == 0) {
    s.stats.cached_tokens = s.kv.positions;
    s.stats.started = Clock::now();
  }
  return true;
}

Status Scheduler::check() const {
  if (!oldest_served_) return Error{Code::kCorrupt, "scheduler: the oldest sequence had no rows"};
  const Sequence* last = nullptr;
  std::vector<bool> taken(limits_.sequences, false);
  for (const Sequence* s : running_) {
    if (last != nullptr && s->id <= last->id)
      return Error{Code::kCorrupt, cat("scheduler: ", s->id, " runs after ", last->id)};
    if (s->slot < 0 || taken[s->slot])
      return Error{Code::kCorrupt,
                   cat("scheduler: slot ", s->slot, " of ", s->id, " is not its own")};
    taken[s->slot] = true;
    last = s;
  }
  for (const Sequence* s : waiting_) {
    if (last != nullptr && s->id <= last->id)
      return Error{Code::kCorrupt, cat("scheduler: ", s->id, " waits behind ", last->id)};
    if (s->slot >= 0 || s->kv.positions > 0)
      return Error{Code::kCorrupt, cat("scheduler: ", s->id, " waits and holds pages")};
    last = s;
  }
  if (slots_.size() + running_.size() != static_cast<size_t>(limits_.sequences))
    return Error{Code::kCorrupt, cat("scheduler: ", slots_.size(), " slots free, ", running_.size(),
                                     " sequences run")};
  return Ok{};
}

}  // namespace mlxcel
