// SamplingParams: everything that one request asks of the draw and of the end, with the neutral
// value as default. The order of application is ops/sample.h's: penalties and bias, mask, filters
// on the untempered distribution, temperature, noise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace mlxcel {

inline constexpr int64_t kNoTokenLimit = -1;  // until the context is full
inline constexpr int32_t kAllTokens = -1;     // a window over the whole history

struct SamplingParams {
  float temperature = 1;  // 0: the most likely token, ties to the lowest id
  int32_t top_k = 0;      // 0: all
  float top_p = 1, min_p = 0;

  float repetition_penalty = 1;  // see penalties.h for the formulas
  int32_t repeat_last_n = 64;    // how far back repetition_penalty looks; kAllTokens: everything
  float presence_penalty = 0, frequency_penalty = 0;

  float dry_multiplier = 0;  // 0: off; see dry.h
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = kAllTokens;
  std::vector<std::vector<int32_t>> dry_sequence_breakers;  // token sequences no match crosses

  std::map<int32_t, float> logit_bias;  // token -> added to its logit
  std::optional<uint64_t> seed;         // none: a random one, which the engine reports

  std::vector<int32_t> end_tokens;   // the model's end-of-turn ids; ignore_eos switches them off
  std::vector<int32_t> stop_tokens;  // the request's own; always honoured
  bool ignore_eos = false;
  int64_t max_tokens = kNoTokenLimit;  // 0: run the prompt and draw nothing
  int32_t logprobs = 0;                // how many of the most likely tokens to report per token
};

// Whether `params` makes sense for `vocab` tokens. A message names the option, its value, the
// reason and what to use instead.
Status check(const SamplingParams& params, int64_t vocab);

// The seed of the request: its own, or a random one from the operating system.
uint64_t choose_seed(const SamplingParams& params);

// Whether drawing `token` ends the request.
bool ends(const SamplingParams& params, int32_t token);

}  // namespace mlxcel
