// Which tokens end an answer: the union of all places that name one.
//
// Checkpoints name them in generation_config.json, config.json (a number or a list, also nested in
// text_config), tokenizer_config.json and GGUF metadata, and each place alone is often incomplete.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>

#include "base/config.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace mlxcel {

// True for the well-known ends of a turn: "<|im_end|>", "<end_of_turn>", ...
bool is_end_spelling(std::string_view spelling);

// `configs`: what config.json and generation_config.json say (the latter by itself, or under
// "generation." as a Checkpoint has it), those that exist. To these come the
// tokenizer's own ids and the well-known ends of a turn among its control tokens.
Result<std::set<int32_t>> end_ids(const Tokenizer& tokenizer,
                                  std::span<const Config* const> configs);

}  // namespace mlxcel
