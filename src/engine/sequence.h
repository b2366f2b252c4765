// Sequence: one request while it lives in the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/request.h"
#include "sampling/penalties.h"

namespace mlxcel {

struct Sequence {
  // REQUIRES: the request was checked. `limit`: tokens of prompt and output together, at most.
  Sequence(RequestId its_id, Request its_request, int32_t its_limit)
      : id(its_id),
        request(std::move(its_request)),
        tokens(request.tokens),
        prompt(static_cast<int32_t>(tokens.size())),
        limit(its_limit),
        penalties(request.sampling, tokens) {
    // Growing past a thousand tokens of output is rare and amortized.
    tokens.reserve(prompt + std::min(limit - prompt, 1024));
    stats.prompt_tokens = prompt;
    stats.seed = choose_seed(request.sampling);
    stats.submitted = Clock::now();
    next_logits = request.logits_from;
  }
  Sequence(const Sequence&) = delete;

  // Rows that would bring the cache up to the last token.
  int32_t pending() const { return static_cast<int32_t>(tokens.size()) - kv.positions; }
  bool draws() const { return limit > prompt; }
  // Whether the row at `position` needs the head: for its logits or for a draw.
  bool wants_logits(int32_t position) const {
    return next_logits != kNoLogits && position >= next_logits;
  }
  bool wants_draw(int32_t position) const {
    return draws() && position == static_cast<int32_t>(tokens.size()) - 1;
  }
  // What a prefix hit may cover: the last token must run, and so must rows whose logits are due.
  int32_t reusable() const {
    const int32_t most = static_cast<int32_t>(tokens.size()) - 1;
    return next_logits == kNoLogits ? most : std::min(most, next_logits);
  }

  const RequestId id;
  const Request request;
  std::vector<int32_t> tokens;  // prompt, then output
  const int32_t prompt;
  const int32_t limit;
  PenaltyState penalties;
  KvTables kv;
  int32_t slot = -1;                // -1: waiting
  int32_t next_logits = kNoLogits;  // position of the next row to report
  bool cancelled = false;
  bool finished = false;
  uint64_t last_step = 0;  // in which it had rows
  RequestStats stats;
};

}  // namespace mlxcel
