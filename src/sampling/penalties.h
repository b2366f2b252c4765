// PenaltyState: a request's tokens so far, and from them the edits of its next row of logits.
//
//   repetition   l > 0 ? l / r : l * r, once for each token among the last repeat_last_n of prompt
//                and output                              (Keskar et al. 2019, CTRL, section 4.1)
//   presence, frequency   l -= (c > 0) * presence + c * frequency, c = how often the token was
//                drawn for this request; the prompt does not count     (OpenAI's API reference)
//   DRY          see dry.h
//   bias         l += bias                                             (OpenAI's logit_bias)
//
// Multiplication comes first, then one sum of all additions. push and pop are exact inverses, so
// that each row of a verify block sees the state after the drafts before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/logits.h"
#include "sampling/dry.h"
#include "sampling/params.h"

namespace mlxcel {

class PenaltyState {
 public:
  // `params` must outlive the state. Every token was checked against the vocabulary.
  PenaltyState(const SamplingParams& params, std::span<const int32_t> prompt);

  void push(int32_t token);  // a drawn token
  void pop(int32_t tokens);  // REQUIRES: at least so many were pushed
  // Ascending tokens, each at most once, appended to `out`; neutral edits are left out.
  void edits(std::vector<LogitEdit>& out);

 private:
  struct Count {
    int32_t token;
    int32_t in_window;  // among the last repeat_last_n
    int32_t drawn;
  };

  bool counting() const;
  bool idle() const;
  Count& count(int32_t token);  // made if missing
  void enter(int32_t token, bool drawn);
  void drop_zero(int32_t token);
  size_t window() const;

  const SamplingParams& params_;
  size_t prompt_;  // tokens of history_ that are prompt
  std::vector<int32_t> history_;
  std::vector<Count> counts_;  // ascending tokens
  Dry dry_;
  std::vector<DryPenalty> dry_penalties_;  // scratch
};

}  // namespace mlxcel
