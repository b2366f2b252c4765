// The tokenizer that a GGUF file carries in its metadata (tokenizer.ggml.*).
#pragma once

#include "base/result.h"
#include "formats/gguf.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// Kinds: gpt2 (byte-level BPE), gemma4, llama (SentencePiece BPE), t5 (Unigram), bert (WordPiece).
Result<TokenizerSpec> tokenizer_spec(const GgufFile& file);

}  // namespace mlxcel
