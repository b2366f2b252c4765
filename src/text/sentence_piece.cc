// SentencePiece's BPE: neighbours whose concatenation is a token are merged, the best score first,
// leftmost on ties. What is no token in the end becomes its bytes, or the unknown token.
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "text/model.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr uint32_t kEnd = UINT32_MAX;

struct Symbol {
  uint32_t begin, size;  // bytes; size 0: merged into its left neighbour
  uint32_t previous, next;
  bool frozen = false;  // a user-defined token: merges with nothing
};

struct Candidate {
  double score;
  uint32_t left, right;  // symbols
  uint32_t size;         // bytes of both when found: another size means it is out of date
  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

class SentencePiece final : public Model {
 public:
  SentencePiece(const TokenizerSpec& spec, const Vocabulary& vocabulary)
      : spec_(spec), vocabulary_(vocabulary) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    for (size_t byte = 0; byte < 256; byte++) {
      const std::string spelling = cat("<0x", kHex[byte >> 4], kHex[byte & 15], ">");
      byte_ids_.push_back(find(spelling));
      vocabulary_.erase(spelling);
    }
    // Text never becomes a control token by merges, whatever it spells.
    for (const AddedToken& token : spec.added) {
      if (token.special) vocabulary_.erase(token.content);
    }
    std::vector<std::pair<std::string_view, int32_t>> frozen;
    for (const int32_t id : spec.frozen) {
      frozen.emplace_back(spec.tokens[static_cast<size_t>(id)], id);
    }
    if (!frozen.empty()) frozen_.emplace(std::move(frozen));
    unused_.insert(spec.unused.begin(), spec.unused.end());
  }

  using Model::encode;
  void encode(std::string_view piece, std::vector<int32_t>& ids) const override {
    std::vector<Symbol> symbols;
    for (uint32_t at = 0; at < piece.size();) {
      auto size = static_cast<uint32_t>(utf8_size(piece[at]));
      bool frozen = false;
      if (frozen_) {
        frozen_->for_each_prefix(piece.substr(at), [&](size_t n, int32_t) {
          size = static_cast<uint32_t>(n);
          frozen = true;
        });
      }
      const auto i = static_cast<uint32_t>(symbols.size());
      symbols.push_back({at, size, i == 0 ? kEnd : i - 1, i + 1, frozen});
      at += size;
    }
    symbols.back().next = kEnd;
    Parts parts;
    merge(piece, symbols, parts);
    bool unknown = false;
    for (uint32_t i = 0; i != kEnd; i = symbols[i].next) {
      append(piece.substr(symbols[i].begin, symbols[i].size), parts, unknown, ids);
    }
  }

 private:
  // How an unused token came about: the size of its left part.
  using Parts = std::unordered_map<std::string_view, uint32_t>;

  int32_t find(std::string_view spelling) const {
    const auto found = vocabulary_.find(spelling);
    return found == vocabulary_.end() ? -1 : found->second;
  }

  void merge(std::string_view piece, std::vector<Symbol>& symbols, Parts& parts) const {
    std::priority_queue<Candidate> heap;
    const auto look = [&](uint32_t left, uint32_t right) {
      if (left == kEnd || right == kEnd || symbols[left].frozen || symbols[right].frozen) return;
      const uint32_t size = symbols[left].size + symbols[right].size;
      const std::string_view both = piece.substr(symbols[left].begin, size);
      const int32_t id = find(both);
      if (id < 0) return;
      heap.push({spec_.scores[static_cast<size_t>(id)], left, right, size});
      if (unused_.contains(id)) parts[both] = symbols[left].size;
    };
    for (uint32_t i = 0; i + 1 < symbols.size(); i++) look(i, i + 1);
    while (!heap.empty()) {
      const Candidate top = heap.top();
      heap.pop();
      Symbol& left = symbols[top.left];
      Symbol& right = symbols[top.right];
      if (left.size == 0 || right.size == 0 || left.size + right.size != top.size) continue;
      left.size = top.size;
      right.size = 0;
      left.next = right.next;
      if (right.next != kEnd) symbols[right.next].previous = top.left;
      look(left.previous, top.left);
      look(top.left, left.next);
    }
  }

  // Unknown symbols in a row are one token with fuse_unknown; `unknown`: the last one was.
  void append(std::string_view symbol, const Parts& parts, bool& unknown,
              std::vector<int32_t>& ids) const {
    const int32_t id = find(symbol);
    if (id >= 0 && unused_.contains(id)) {
      // SentencePiece gives an unused token out where it is one character.
      if (const auto part = parts.find(symbol); part != parts.end()) {
        append(symbol.substr(0, part->second), parts, unknown, ids);
        append(symbol.substr(part->second), parts, unknown, ids);
        return;
      }
    }
    if (id >= 0) {
      unknown = false;
      ids.push_back(id);
      return;
    }
    if (byte_ids_[static_cast<uint8_t>(symbol[0])] >= 0) {
      unknown = false;
      for (const char byte : symbol) {
        const int32_t byte_id = byte_ids_[static_cast<uint8_t>(byte)];
        if (byte_id >= 0) ids.push_back(byte_id);
      }
    } else if (spec_.unknown) {
      if (!unknown || !spec_.fuse_unknown) ids.push_back(*spec_.unknown);
      unknown = true;
    }
  }

  const TokenizerSpec& spec_;
  Vocabulary vocabulary_;  // what merges can make
  std::vector<int32_t> byte_ids_;
  std::optional<Trie> frozen_;
  std::unordered_set<int32_t> unused_;
};

}  // namespace

Result<std::unique_ptr<Model>> make_sentence_piece(const TokenizerSpec& spec,
                                                   const Vocabulary& vocabulary) {
  if (spec.scores.size() != spec.tokens.size()) {
    return Error{Code::kCorrupt, cat(spec.where, ": expected one score for each of ",
                                     spec.tokens.size(), " tokens, found ", spec.scores.size())};
  }
  return std::unique_ptr<Model>(std::make_unique<SentencePiece>(spec, vocabulary));
}

}  // namespace mlxcel
