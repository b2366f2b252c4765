// The log probability of a prompt's token, from the logits of the row before it.
#pragma once

#include <cstdint>
#include <span>

#include "server/generation.h"

namespace mlxcel::server {

// `top`: how many of the most likely tokens to name, ties to the lower id.
ScoredToken score_token(std::span<const float> logits, int32_t token, int32_t top);

}  // namespace mlxcel::server
