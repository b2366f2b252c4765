// Models: from one piece of text to token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// The ids that encode() found for short pieces of one text: words repeat. Direct-mapped, so a
// clash only costs time.
class PieceCache {
 public:
  // For a text of `bytes` bytes; short texts get no cache.
  explicit PieceCache(size_t bytes);

  static constexpr size_t kMaxBytes = 23, kMaxIds = 6;
  struct Slot {
    uint8_t bytes = 0, count = 0;
    char key[kMaxBytes];
    int32_t ids[kMaxIds];
  };
  // The slot for `piece`; null if it is too long, or there is no cache.
  Slot* slot(std::string_view piece);

 private:
  std::vector<Slot> slots_;
};

class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of `piece`. REQUIRES: not empty; UTF-8, unless the model was made for bytes.
  virtual void encode(std::string_view piece, std::vector<int32_t>& ids) const = 0;

  // The same through a cache that belongs to this model and one text.
  void encode(std::string_view piece, PieceCache& cache, std::vector<int32_t>& ids) const;
};

// Lookup of a spelling; the views point into the spec's tokens.
using Vocabulary = std::unordered_map<std::string_view, int32_t>;

// The spec must outlive the model. `raw_bytes`: pieces are bytes and the vocabulary is written in
// the byte-level alphabet.
Result<std::unique_ptr<Model>> make_bpe(const TokenizerSpec& spec, const Vocabulary& vocabulary,
                                        bool raw_bytes);
Result<std::unique_ptr<Model>> make_sentence_piece(const TokenizerSpec& spec,
                                                   const Vocabulary& vocabulary);
Result<std::unique_ptr<Model>> make_unigram(const TokenizerSpec& spec,
                                            const Vocabulary& vocabulary);
Result<std::unique_ptr<Model>> make_word_piece(const TokenizerSpec& spec,
                                               const Vocabulary& vocabulary);

}  // namespace mlxcel
