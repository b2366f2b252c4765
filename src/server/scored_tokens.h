// Tokens with their log probabilities: of prompts, and as the protocols write them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/generation.h"

namespace mlxcel::server {

// The log probability of a prompt's token, from the logits of the row before it. `top`: how many of
// the most likely tokens to name, ties to the lower id.
ScoredToken score_token(std::span<const float> logits, int32_t token, int32_t top);

// [{"token", "bytes", "logprob", "top_logprobs": [{"token", "bytes", "logprob"}, ...]}, ...];
// `ids`: each with its "id" too.
json::array to_json(const std::vector<ScoredToken>& scored, const Tokenizer& tokenizer,
                    bool ids = false);

}  // namespace mlxcel::server
