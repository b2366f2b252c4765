// SentencePiece's precompiled_charsmap: u32 bytes of trie, a double-array trie from spellings to
// offsets, then the replacements, each ended by NUL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mlxcel {

class CharsmapTable {
 public:
  // `map`: the bytes of precompiled_charsmap.
  static Result<CharsmapTable> parse(std::string_view map);

  // Calls visit(size, replacement) for each spelling that `text` starts with, shortest first, until
  // it returns false. The replacement is missing where the file points at nothing.
  template <class Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    if (trie_.empty()) return;
    size_t node = offset(trie_[0]);
    for (size_t i = 0; i < text.size(); i++) {
      const auto byte = static_cast<uint8_t>(text[i]);
      if (byte == 0) return;
      node ^= byte;
      if (node >= trie_.size() || (trie_[node] & 0x800000FFu) != byte) return;
      const uint32_t unit = trie_[node];
      node ^= offset(unit);
      if ((unit >> 8 & 1) == 0) continue;
      if (node >= trie_.size()) return;
      if (!visit(i + 1, replacement(trie_[node] & 0x7FFFFFFFu))) return;
    }
  }

 private:
  // A unit: bit 31 and bits 0-7 the label, bit 8 "has a value", bits 10-30 the offset, shifted by
  // 8 if bit 9 is set; a value is a unit with bit 31 set.
  static size_t offset(uint32_t unit) {
    return static_cast<size_t>(unit >> 10) << ((unit & 1u << 9) >> 6);
  }
  std::optional<std::string_view> replacement(size_t at) const;

  std::vector<uint32_t> trie_;
  std::string replacements_;
};

}  // namespace mlxcel
