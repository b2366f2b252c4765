// Byte-pair encoding: the pair of the lowest rank, leftmost first, is merged until none is left.
//
// Short pieces scan an array for the lowest rank; long ones keep the pairs in a heap over a linked
// list, so that a run of n equal characters costs n log n.
#include <algorithm>
#include <array>
#include <queue>

#include "base/cat.h"
#include "text/byte_level.h"
#include "text/merge_table.h"
#include "text/model.h"

namespace mlxcel {
namespace {

constexpr size_t kSmall = 48;  // symbols: above, the heap wins
constexpr uint32_t kNoRank = UINT32_MAX;

// Merges ids[0 .. count) in place; returns how many are left. REQUIRES: count <= kSmall.
size_t merge_small(const MergeTable& merges, int32_t* ids, size_t count) {
  std::array<Merge, kSmall> pairs;
  const auto look = [&](size_t i) {
    const Merge* found = merges.find(ids[i], ids[i + 1]);
    pairs[i] = found ? *found : Merge{kNoRank, 0};
  };
  for (size_t i = 0; i + 1 < count; i++) look(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; i++) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoRank) break;
    ids[best] = pairs[best].id;
    std::copy(ids + best + 2, ids + count, ids + best + 1);
    std::copy(pairs.begin() + static_cast<ptrdiff_t>(best) + 1,
              pairs.begin() + static_cast<ptrdiff_t>(count) - 1,
              pairs.begin() + static_cast<ptrdiff_t>(best));
    count--;
    if (best > 0) look(best - 1);
    if (best + 1 < count) look(best);
  }
  return count;
}

struct Candidate {
  uint32_t rank, at;  // of the left symbol
  int32_t left, right, id;
  bool operator<(const Candidate& other) const {  // the heap's top is the lowest rank, leftmost
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

// The same for any count.
size_t merge_large(const MergeTable& merges, int32_t* ids, size_t count) {
  constexpr int32_t kGone = -1;
  std::vector<uint32_t> next(count), previous(count);
  std::priority_queue<Candidate> heap;
  const auto end = static_cast<uint32_t>(count);
  const auto look = [&](uint32_t at) {
    if (at == end || next[at] == end) return;
    const int32_t left = ids[at], right = ids[next[at]];
    if (const Merge* found = merges.find(left, right)) {
      heap.push({found->rank, at, left, right, found->id});
    }
  };
  for (uint32_t i = 0; i < end; i++) {
    next[i] = i + 1;
    previous[i] = i == 0 ? end : i - 1;
  }
  for (uint32_t i = 0; i + 1 < end; i++) look(i);
  while (!heap.empty()) {
    const Candidate top = heap.top();
    heap.pop();
    const uint32_t right = next[top.at];
    if (ids[top.at] != top.left || right == end || ids[right] != top.right) continue;
    ids[top.at] = top.id;
    ids[right] = kGone;
    next[top.at] = next[right];
    if (next[right] != end) previous[next[right]] = top.at;
    look(previous[top.at]);
    look(top.at);
  }
  return static_cast<size_t>(std::remove(ids, ids + count, kGone) - ids);
}

class Bpe final : public Model {
 public:
  Bpe(const TokenizerSpec& spec, const Vocabulary& vocabulary, bool raw_bytes)
      : spec_(spec), vocabulary_(vocabulary), raw_bytes_(raw_bytes), merges_(spec.merges.size()) {
    for (size_t byte = 0; byte < 256; byte++) {
      std::string spelling;
      if (raw_bytes) {
        append_utf8(spelling, kByteToChar[byte]);
      } else {
        constexpr std::string_view kHex = "0123456789ABCDEF";
        spelling = cat("<0x", kHex[byte >> 4], kHex[byte & 15], ">");
      }
      byte_ids_[byte] = find(spelling).value_or(-1);
    }
  }

  Status add_merges() {
    const size_t prefix = spec_.continuing_prefix.size();
    for (size_t rank = 0; rank < spec_.merges.size(); rank++) {
      const auto& [left, right] = spec_.merges[rank];
      const auto a = find(left), b = find(right);
      const auto merged = find(left + right.substr(std::min(prefix, right.size())));
      if (!a || !b || !merged) {
        return Error{Code::kCorrupt, cat(spec_.where, ": merge ", rank,
                                         ": expected tokens of the vocabulary, found \"", left,
                                         "\" + \"", right, "\"")};
      }
      merges_.insert(*a, *b, {static_cast<uint32_t>(rank), *merged});
    }
    return Ok{};
  }

  using Model::encode;
  void encode(std::string_view piece, std::vector<int32_t>& ids) const override {
    if (spec_.ignore_merges) {
      if (const auto whole = find(raw_bytes_ ? byte_level(piece) : std::string(piece))) {
        ids.push_back(*whole);
        return;
      }
    }
    const size_t begin = ids.size();
    raw_bytes_ ? append_bytes(piece, ids) : append_chars(piece, ids);
    const size_t count = ids.size() - begin;
    const auto merge = count <= kSmall ? merge_small : merge_large;
    ids.resize(begin + merge(merges_, ids.data() + begin, count));
  }

 private:
  static std::string byte_level(std::string_view piece) {
    std::string spelling;
    append_byte_level(spelling, piece);
    return spelling;
  }

  std::optional<int32_t> find(std::string_view spelling) const {
    const auto found = vocabulary_.find(spelling);
    return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
  }

  void append_bytes(std::string_view piece, std::vector<int32_t>& ids) const {
    bool unknown = false;
    for (const char c : piece) {
      const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
      if (id >= 0) {
        ids.push_back(id);
      } else if (spec_.unknown && !(unknown && spec_.fuse_unknown)) {
        ids.push_back(*spec_.unknown);
      }
      unknown = id < 0;
    }
  }

  // An unknown character waits: with fuse_unknown it becomes one token with those behind it.
  void append_chars(std::string_view piece, std::vector<int32_t>& ids) const {
    bool pending = false;
    const auto flush = [&] {
      if (pending) ids.push_back(*spec_.unknown);
      pending = false;
    };
    for (size_t at = 0; at < piece.size();) {
      const std::string_view c = piece.substr(at, utf8_size(piece[at]));
      const bool first = at == 0;
      at += c.size();
      if (const auto id = find_char(c, first, at == piece.size())) {
        flush();
        ids.push_back(*id);
      } else if (spec_.byte_fallback && std::all_of(c.begin(), c.end(), [&](char byte) {
                   return byte_ids_[static_cast<uint8_t>(byte)] >= 0;
                 })) {
        for (const char byte : c) ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
      } else if (spec_.unknown) {
        if (!spec_.fuse_unknown) flush();
        pending = true;
      }
    }
    flush();
  }

  std::optional<int32_t> find_char(std::string_view c, bool first, bool last) const {
    const bool prefixed = !first && !spec_.continuing_prefix.empty();
    const bool suffixed = last && !spec_.word_suffix.empty();
    if (!prefixed && !suffixed) return find(c);
    return find(cat(prefixed ? spec_.continuing_prefix : "", c, suffixed ? spec_.word_suffix : ""));
  }

  const TokenizerSpec& spec_;
  const Vocabulary& vocabulary_;
  bool raw_bytes_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;
};

}  // namespace

Result<std::unique_ptr<Model>> make_bpe(const TokenizerSpec& spec, const Vocabulary& vocabulary,
                                        bool raw_bytes) {
  auto model = std::make_unique<Bpe>(spec, vocabulary, raw_bytes);
  TRY_OK(model->add_merges());
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace mlxcel
