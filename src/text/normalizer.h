// Normalizers: what happens to a text before it is split and encoded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// A text may grow to so many bytes; a file whose rules ask for more is an error.
constexpr size_t kMaxNormalized = size_t{1} << 28;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // REQUIRES: text is UTF-8; so is the result.
  virtual Result<std::string> apply(std::string text) const = 0;
};

Result<std::unique_ptr<Normalizer>> make_normalizer(const NormalizerSpec& spec);

// SentencePiece's character map as the tokenizers package reads it (charsmap.cc): `map` is the
// bytes of the model's precompiled_charsmap.
Result<std::unique_ptr<Normalizer>> make_charsmap(const std::string& map);

// SentencePiece's own normalizer (sentencepiece_normalizer.cc).
Result<std::unique_ptr<Normalizer>> make_sentencepiece_normalizer(const NormalizerSpec& spec);

}  // namespace mlxcel
