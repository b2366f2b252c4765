// Unigram: of all ways to write a piece as tokens, the one with the best sum of scores. One pass
// over the characters with a trie of the vocabulary (Viterbi), linear in the piece.
#include <algorithm>
#include <limits>

#include "base/cat.h"
#include "text/model.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr double kUnknownPenalty = 10;  // an unknown character scores this below the worst token
constexpr float kFrozenScore = -0.1F;   // a user-defined token: better than almost all others

using Entries = std::vector<std::pair<std::string_view, int32_t>>;

std::string byte_spelling(size_t byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return cat("<0x", kHex[byte >> 4], kHex[byte & 15], ">");
}

// Text never becomes a control token, whatever it spells: those are not among the entries. Nor does
// it become a byte token in SentencePiece itself.
Entries entries_of(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  Vocabulary plain = vocabulary;
  for (const AddedToken& token : spec.added) {
    if (token.special) plain.erase(token.content);
  }
  for (size_t byte = 0; spec.float_scores && byte < 256; byte++) plain.erase(byte_spelling(byte));
  for (const int32_t id : spec.unused) plain.erase(spec.tokens[static_cast<size_t>(id)]);
  return {plain.begin(), plain.end()};
}

class Unigram final : public Model {
 public:
  Unigram(const TokenizerSpec& spec, const Vocabulary& vocabulary)
      : spec_(spec),
        vocabulary_(vocabulary),
        trie_(entries_of(spec, vocabulary)),
        scores_(spec.scores) {
    double worst = std::numeric_limits<double>::infinity();
    for (const double score : spec.scores) worst = std::min(worst, score);
    unknown_score_ = worst - kUnknownPenalty;
    for (const int32_t id : spec.frozen) scores_[static_cast<size_t>(id)] = kFrozenScore;
    if (spec.float_scores) unknown_score_ = static_cast<float>(unknown_score_);
    for (size_t byte = 0; byte < 256; byte++) byte_ids_.push_back(find(byte_spelling(byte)));
  }

  using Model::encode;
  void encode(std::string_view piece, std::vector<int32_t>& ids) const override {
    const std::vector<Best> best = search(piece);
    std::vector<Best> path;  // .begin .. next .begin; from the right
    std::vector<size_t> ends;
    for (size_t end = piece.size(); end > 0; end = best[end].begin) {
      const bool fuse = spec_.unknown && best[end].id == *spec_.unknown && !path.empty() &&
                        path.back().id == *spec_.unknown;
      if (fuse) {
        path.back().begin = best[end].begin;
      } else {
        path.push_back(best[end]);
        ends.push_back(end);
      }
    }
    for (size_t i = path.size(); i-- > 0;) {
      append(piece.substr(path[i].begin, ends[i] - path[i].begin), ids);
    }
  }

 private:
  static constexpr size_t kUnreached = SIZE_MAX;
  struct Best {
    double score = 0;
    size_t begin = kUnreached;  // of the last token of the best path that ends here
    int32_t id = 0;
  };

  int32_t find(std::string_view spelling) const {
    const auto found = vocabulary_.find(spelling);
    return found == vocabulary_.end() ? -1 : found->second;
  }

  std::vector<Best> search(std::string_view piece) const {
    std::vector<Best> best(piece.size() + 1);
    for (size_t at = 0; at < piece.size();) {
      const double here = best[at].score;
      const size_t char_size = utf8_size(piece[at]);
      bool whole_char = false;
      const auto offer = [&](size_t size, double score, int32_t id) {
        Best& target = best[at + size];
        if (spec_.float_scores) score = static_cast<float>(score);
        if (target.begin == kUnreached || score > target.score) target = {score, at, id};
      };
      trie_.for_each_prefix(piece.substr(at), [&](size_t size, int32_t id) {
        offer(size, scores_[static_cast<size_t>(id)] + here, id);
        whole_char = whole_char || size == char_size;
      });
      if (!whole_char) offer(char_size, unknown_score_ + here, spec_.unknown.value_or(-1));
      at += char_size;
    }
    return best;
  }

  void append(std::string_view token, std::vector<int32_t>& ids) const {
    if (const int32_t id = find(token); id >= 0) {
      ids.push_back(id);
      return;
    }
    const bool bytes =
        spec_.byte_fallback && std::all_of(token.begin(), token.end(), [&](char byte) {
          return byte_ids_[static_cast<uint8_t>(byte)] >= 0;
        });
    if (bytes) {
      for (const char byte : token) ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
    } else if (spec_.unknown) {
      ids.push_back(*spec_.unknown);
    }
  }

  const TokenizerSpec& spec_;
  const Vocabulary& vocabulary_;
  Trie trie_;
  std::vector<double> scores_;
  double unknown_score_;
  std::vector<int32_t> byte_ids_;
};

}  // namespace

Result<std::unique_ptr<Model>> make_unigram(const TokenizerSpec& spec,
                                            const Vocabulary& vocabulary) {
  if (spec.scores.size() != spec.tokens.size()) {
    return Error{Code::kCorrupt, cat(spec.where, ": expected one score for each of ",
                                     spec.tokens.size(), " tokens, found ", spec.scores.size())};
  }
  for (const auto& [spelling, id] : vocabulary) {
    if (!is_utf8(spelling)) {
      return Error{Code::kCorrupt, cat(spec.where, ": token ", id, ": expected UTF-8")};
    }
  }
  return std::unique_ptr<Model>(std::make_unique<Unigram>(spec, vocabulary));
}

}  // namespace mlxcel
