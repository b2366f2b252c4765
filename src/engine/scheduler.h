// Scheduler: which rows of which sequences the next step runs.
//
//   1. one row for every sequence that only waits for its next token (decode)
//   2. chunks for those that are behind (prefill, or recomputing after a preemption), oldest first
//   3. new ones, oldest first, while a slot is free and the pages they will need can be had without
//      taking any from a running sequence
//
// If a page is missing, the youngest sequence gives all of its pages back and waits again; its
// tokens are kept and recomputed later, to equal bytes. A sequence that is the youngest itself
// makes do with fewer rows.
//
// Every running sequence is older than every waiting one, and the oldest can always take pages from
// all others: it has rows in every step, so every sequence finishes.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/sequence.h"

namespace mlxcel {

struct SchedulerLimits {
  int32_t rows = 0;           // of a step; more than sequences
  int32_t head_rows = 0;      // of them with logits; more than sequences
  int32_t sequences = 0;      // running at once
  int32_t prefill_chunk = 0;  // rows of one sequence in a step
  int32_t lookahead = 0;      // tokens of output that admission counts on, per sequence
};

struct PlannedRows {
  Sequence* sequence = nullptr;
  int32_t rows = 0;
};

class Scheduler {
 public:
  Scheduler(const SchedulerLimits& limits, KvCache& kv);

  void add(Sequence& s) { waiting_.push_back(&s); }
  // The next step, its pages taken. Empty only if there is nothing to do.
  void plan(std::vector<PlannedRows>& out);
  void remove(Sequence& s);  // finished or cancelled: pages and slot are given back

  size_t running() const { return running_.size(); }
  size_t waiting() const { return waiting_.size(); }
  uint64_t preemptions() const { return preemptions_; }
  Status check() const;

 private:
  bool place(Sequence& s, std::vector<PlannedRows>& out);
  bool admit(Sequence& s);
  void preempt_youngest(std::vector<PlannedRows>& out);
  void retire(Sequence& s);
  int32_t rows_within_heads(const Sequence& s, int32_t rows) const;
  int32_t heads(const Sequence& s, int32_t rows) const;
  int32_t projected(const Sequence& s, int group) const;

  SchedulerLimits limits_;
  KvCache& kv_;
  std::deque<Sequence*> waiting_;   // ascending ids
  std::vector<Sequence*> running_;  // ascending ids, all below those waiting
  std::vector<int32_t> slots_;      // free ones
  std::vector<int32_t> want_;       // scratch [group]
  int32_t rows_left_ = 0, heads_left_ = 0;
  uint64_t preemptions_ = 0;
  bool oldest_served_ = true;  // by the last plan: nobody starves
};

}  // namespace mlxcel
