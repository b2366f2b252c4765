// WordPiece: the longest token that a word starts with, then the longest continuation ("##..."),
// and so on; a word that cannot be written so is the unknown token.
#include <algorithm>

#include "base/cat.h"
#include "text/model.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

class WordPiece final : public Model {
 public:
  WordPiece(const TokenizerSpec& spec, const Vocabulary& vocabulary)
      : spec_(spec), vocabulary_(vocabulary) {
    for (const auto& [spelling, id] : vocabulary) longest_ = std::max(longest_, spelling.size());
  }

  using Model::encode;
  void encode(std::string_view piece, std::vector<int32_t>& ids) const override {
    const auto chars =
        std::count_if(piece.begin(), piece.end(), [](char c) { return !is_utf8_continuation(c); });
    const size_t begin = ids.size();
    if (static_cast<size_t>(chars) > spec_.max_word_chars || !append_word(piece, ids)) {
      ids.resize(begin);
      ids.push_back(*spec_.unknown);
    }
  }

 private:
  bool append_word(std::string_view word, std::vector<int32_t>& ids) const {
    std::string spelling;
    for (size_t begin = 0; begin < word.size();) {
      size_t end = std::min(word.size(), begin + longest_);
      while (end < word.size() && is_utf8_continuation(word[end])) end--;
      int32_t id = -1;
      while (end > begin) {
        spelling = begin > 0 ? spec_.continuing_prefix : "";
        spelling += word.substr(begin, end - begin);
        if (const auto found = vocabulary_.find(spelling); found != vocabulary_.end()) {
          id = found->second;
          break;
        }
        do end--;
        while (end > begin && is_utf8_continuation(word[end]));
      }
      if (id < 0) return false;
      ids.push_back(id);
      begin = end;
    }
    return true;
  }

  const TokenizerSpec& spec_;
  const Vocabulary& vocabulary_;
  size_t longest_ = 1;
};

}  // namespace

Result<std::unique_ptr<Model>> make_word_piece(const TokenizerSpec& spec,
                                               const Vocabulary& vocabulary) {
  if (!spec.unknown) {
    return Error{Code::kCorrupt,
                 cat(spec.where, ": WordPiece: expected an unknown token, found none")};
  }
  return std::unique_ptr<Model>(std::make_unique<WordPiece>(spec, vocabulary));
}

}  // namespace mlxcel
