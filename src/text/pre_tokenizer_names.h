// The names that GGUF files give to pre-tokenizers (tokenizer.ggml.pre), and what they stand for in
// the checkpoint's own tokenizer.json.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

struct NamedPreTokenizer {
  std::vector<NormalizerSpec> normalizers = {};
  std::vector<PreTokenizerSpec> pre_tokenizers = {};
  bool ignore_merges = false;
  bool add_bos = false;  // where the file does not say
};

// An empty name is "default". Unknown names are errors: another split means other ids, silently.
Result<NamedPreTokenizer> pre_tokenizer_named(std::string_view name);

}  // namespace mlxcel
