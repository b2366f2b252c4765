// tokenizer.json: the file in which Hugging Face checkpoints carry their tokenizer.
//
// Every stage that the tokenizers package writes is read; one that we do not know is an error that
// names it, since leaving it out would give other ids, silently.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// `where` names the file in messages. `text`: the file's bytes.
Result<TokenizerSpec> tokenizer_spec_of_json(std::string where, std::string_view text);

// What tokenizer_config.json adds: bos, eos and pad tokens, add_bos_token and add_eos_token, the
// chat templates; beside a tokenizer.model also the tokens of added_tokens_decoder. REQUIRES: spec
// is from the tokenizer.json or the tokenizer.model beside it.
Status add_tokenizer_config(TokenizerSpec& spec, std::string where, std::string_view text);

}  // namespace mlxcel
