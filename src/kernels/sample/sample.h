// Draws one token from one row of logits, without sorting and without an inverse distribution.
//
//   l[t]  = edited logit: e > 0 ? e / repeat : e * repeat, then + add; -infinity where the mask
//           forbids t
//   M     = max l;  mass of a set = sum of exp_f32(l[t] - M) over it, in the tree below
//   t ranks before u: l[t] > l[u], or l[t] = l[u] and t < u
//   F     = {t : l[t] > -infinity, fewer than top_k tokens rank before t (top_k > 0),
//                mass ranked before t < top_p * mass of all (top_p < 1),
//                l[t] - M >= log(min_p) (min_p > 0)}; the first in rank is always in F
//   token = argmax over F of (l[t] - M) / temperature + gumbel(t), ties to the lowest id;
//           at temperature 0 the first in rank
// F is a beginning of the ranking. So tokens are visited in order of their perturbed logit and
// tested: a failed test excludes all that rank after it, and the expected number of visits is
// small.
//
// Mass: blocks of 1,024 ids; in a block lane i of 16 adds ids i, 16 + i, ... in order from 0
// (tokens outside the set add 0), then reduce16; block sums are added in order in double.
//
// Noise: Philox4x32-10 (Salmon et al. 2011) with key (seed low, seed high) and counter (t / 4,
// choice, position low, position high); word t % 4 of its output is r. u = (r + 1/2) / 2^32, the
// complement of a uniform: gumbel = -log(-log(1 - u)), with -log(1 - u) to full relative accuracy
// near u = 0, where the largest noise comes from.
//
// logprobs are log softmax of the logits as given, before edits, mask and temperature.
#pragma once

#include <cstdint>

#include "base/logits.h"

namespace mlxcel {

// Words r below this times 2^16 give u < 0.2929, so 1 - u > sqrt(1/2).
inline constexpr int32_t kGumbelSmall = 19195;

struct SampleArgs {
  const float* logits;  // [vocab]
  int64_t vocab;
  float* scratch;          // [vocab]; read and written only if there are edits or a mask
  const LogitEdit* edits;  // ascending tokens, each at most once
  int64_t edit_count;
  const uint32_t* allowed;  // bit per token, ceil(vocab / 32) words; null: all
  float temperature;        // 0 or less: no noise
  int32_t top_k;            // 0: all
  float top_p, min_p;       // in [0, 1]; 1, 0: all
  uint64_t seed, position;
  uint32_t choice;
  TokenLogprob*
      top;  // [top_count]: the most likely tokens, ties to the lower id; -1 after the last
  int32_t top_count;
};

struct SampleResult {
  int32_t token;  // -1: a logit is NaN or +infinity, or nothing is allowed
  float logprob;  // of the token
};

SampleResult sample_row(const SampleArgs& args);

// The noise of tokens `first` to `first` + 63 under args' key; `first` is a multiple of 64.
void sample_noise(const SampleArgs& args, int64_t first, float noise[64]);

// Philox4x32-10's four words.
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

}  // namespace mlxcel
