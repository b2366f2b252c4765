// Writes what defines a tokenizer as Hugging Face's files: tokenizer.json and
// tokenizer_config.json, so that a GGUF's tokenizer works wherever those are read.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// Errors: a kind of vocabulary that is not written (only BPE and SentencePiece BPE are).
Result<std::string> tokenizer_json(const TokenizerSpec& spec);

// Special tokens by their spelling, and the chat templates.
std::string tokenizer_config_json(const TokenizerSpec& spec);

}  // namespace mlxcel
