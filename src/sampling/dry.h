// DRY ("don't repeat yourself"): makes a token unlikely in proportion to how long a repetition it
// would continue.
//
//   For each earlier position i whose text up to i ends like the whole history, over m tokens:
//   the token t at i + 1 would make that m + 1.   m(t) = the longest such m, at most 50
//   l[t] -= multiplier * base^(m(t) - allowed_length)   if m(t) >= allowed_length
//
// A match takes no token of a sequence breaker, and a token that ends a breaker is never penalized.
// Source: p-e-w, text-generation-webui pull request 5677, where a breaker is one token; here it may
// be a sequence, found as it stands in the history. The bound of 50 is its author's too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/params.h"

namespace mlxcel {

inline constexpr int kMaxDryMatch = 50;

struct DryPenalty {
  int32_t token = 0;
  float penalty = 0;  // to subtract from the logit
};

class Dry {
 public:
  // Ascending tokens, each once, into `out`. Time: linear in the window.
  void penalties(const SamplingParams& params, std::span<const int32_t> history,
                 std::vector<DryPenalty>& out);

 private:
  std::vector<int32_t> match_;  // scratch: match_[d] = how far the history matches itself d back
};

}  // namespace mlxcel
