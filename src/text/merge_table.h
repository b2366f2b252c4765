// MergeTable: (left id, right id) -> (rank, merged id), open addressing: one probe is one cache
// line, and half a million merges load in tens of milliseconds.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlxcel {

struct Merge {
  uint32_t rank;
  int32_t id;
};

class MergeTable {
 public:
  explicit MergeTable(size_t merges)
      : slots_(std::bit_ceil(merges * 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  // A pair that is named again takes the later rank, as in the tokenizers package.
  void insert(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t at = home(key);
    while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, merge};
  }

  const Merge* find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = home(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are never negative
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t home(uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> shift_; }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace mlxcel
