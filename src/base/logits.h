// What is said about single tokens of a row of logits, from the parameters of a request down to the
// kernel that draws.
#pragma once

#include <cstdint>

namespace mlxcel {

// What penalties and biases do to one token's logit: l > 0 ? l / repeat : l * repeat, then + add.
struct LogitEdit {
  int32_t token = 0;
  float repeat = 1;
  float add = 0;
};

// A log probability under the model's own logits, before any edit and at temperature 1.
struct TokenLogprob {
  int32_t token = -1;  // -1: none
  float logprob = 0;
};

inline constexpr int kMaxTopLogprobs = 20;  // OpenAI's bound on top_logprobs

}  // namespace mlxcel
