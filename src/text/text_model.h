// The text side of a checkpoint: its tokenizer, its chat template and the tokens that end an
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/checkpoint.h"
#include "text/tokenizer.h"

namespace mlxcel {

struct TextModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string chat_template;        // its source; empty if the checkpoint has none
  std::vector<int32_t> end_tokens;  // the union of all places that name one, ascending
};

// Errors: no tokenizer, or one that does not fit the embedding (more tokens than rows).
Result<TextModel> load_text_model(const Checkpoint& checkpoint);

}  // namespace mlxcel
