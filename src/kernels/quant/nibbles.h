// The arrangement of 32 codes that ggml's simple formats share: byte j holds k = j in its low
// nibble and k = 16 + j in its high one; a fifth bit of code k is bit k of a little-endian word.
#pragma once

#include <cstdint>
#include <cstring>

namespace mlxcel::quant {

inline void read_nibbles(const void* bytes, uint8_t* code) {
  const auto* q = static_cast<const uint8_t*>(bytes);
  for (int j = 0; j < 16; j++) {
    code[j] = q[j] & 15;
    code[16 + j] = q[j] >> 4;
  }
}

inline void add_fifth_bits(const void* word, uint8_t* code) {
  uint32_t high;
  std::memcpy(&high, word, 4);
  for (int k = 0; k < 32; k++) {
    code[k] = static_cast<uint8_t>(code[k] | (high >> k & 1) << 4);
  }
}

}  // namespace mlxcel::quant
