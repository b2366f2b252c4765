// The tokenizer files beside a Hugging Face or MLX checkpoint.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// tokenizer.json, or without it tokenizer.model, and what tokenizer_config.json and
// chat_template.jinja add, where they exist.
Result<TokenizerSpec> tokenizer_spec_of_folder(const std::string& folder);

}  // namespace mlxcel
