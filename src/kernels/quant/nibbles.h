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

// Eight codes at a time: bit i of a byte moves to byte i, where any bit set becomes bit 4.
inline void add_fifth_bits(const void* bits, uint8_t* code) {
  const auto* high = static_cast<const uint8_t*>(bits);
  for (int i = 0; i < 4; i++) {
    const uint64_t each = high[i] * 0x0101010101010101u & 0x8040201008040201u;
    uint64_t codes;
    std::memcpy(&codes, code + 8 * i, 8);
    codes |= ((each + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 3;
    std::memcpy(code + 8 * i, &codes, 8);
  }
}

}  // namespace mlxcel::quant
