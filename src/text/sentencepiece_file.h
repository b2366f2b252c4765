// tokenizer.model: the file in which SentencePiece keeps a vocabulary (a protobuf message). It
// comes with checkpoints that have no tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// `where` names the file in messages. `bytes`: the file. Kinds: BPE and Unigram.
Result<TokenizerSpec> tokenizer_spec_of_sentencepiece(std::string where, std::string_view bytes);

}  // namespace mlxcel
