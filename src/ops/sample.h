// Drawing a token from a row of logits, as the seam sees it: one request's parameters, its edits,
// its key.
//
//   l[t]  = edited logit: repetition, then addition (penalties, bias), then the mask
//   F     = {t : rank of t < top_k} and {t : mass ranked before t < top_p} and {t : p[t] >= min_p
//   max p}
//           with p = softmax(l), untempered; ranked by l descending, id ascending
//   token = argmax over t in F of l[t] / temperature + gumbel(key, t), ties to the lowest id
//
// At temperature 0 there is no noise. A token depends on its logits, its parameters and its key
// alone.
#pragma once

#include <cstdint>
#include <span>

#include "base/logits.h"

namespace mlxcel {

// The noise of a draw: Philox4x32-10 with key (seed, choice) and counter (position, token / 4).
struct NoiseKey {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint64_t position = 0;  // of the token that is drawn
};

struct SampleRow {
  float temperature = 0;
  int32_t top_k = 0;  // 0: all
  float top_p = 1, min_p = 0;
  NoiseKey key;
  std::span<const LogitEdit> edits;   // ascending tokens, each at most once
  std::span<const uint32_t> allowed;  // bit per token, ceil(vocab / 32) words; empty: all
  int32_t sequence = 0;               // slot that keeps the sample for RowInput::Kind::kLastSample
  int32_t top_logprobs = 0;           // how many of the most likely tokens to report
};

struct Sample {
  int32_t token = -1;  // -1: the row has a NaN or allows nothing; its request fails, others do not
  float logprob = 0;
  // The first top_logprobs, most likely first, ties to the lower id.
  TokenLogprob top[kMaxTopLogprobs] = {};
};

}  // namespace mlxcel
