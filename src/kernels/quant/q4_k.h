// GGUF's Q4_K: f16 d, f16 dmin, 12 bytes of 6-bit sub-scales and sub-minima (groups of 32), 128
// bytes of nibbles. w = d * scale * code - dmin * min, groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

// Numbers 0 to 3 lie in the low six bits; 4 to 7 in the nibbles of the last four bytes and the two
// high bits of the first eight.
inline void read_six_bit_pairs(const std::byte* bytes, Group* g) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes);
  for (int s = 0; s < 4; s++) {
    g->sub_scale[s] = static_cast<int8_t>(p[s] & 63);
    g->sub_min[s] = p[s + 4] & 63;
    g->sub_scale[s + 4] = static_cast<int8_t>((p[s + 8] & 15) | p[s] >> 6 << 4);
    g->sub_min[s + 4] = static_cast<uint8_t>(p[s + 8] >> 4 | p[s + 4] >> 6 << 4);
  }
}

// 32 bytes hold 64 codes: the low nibbles first, then the high ones.
inline void read_nibble_halves(const uint8_t* q, uint8_t* code) {
  for (int part = 0; part < 4; part++, q += 32, code += 64) {
    for (int i = 0; i < 32; i++) code[i] = q[i] & 15;
    for (int i = 0; i < 32; i++) code[32 + i] = q[i] >> 4;
  }
}

inline void read_q4_k(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  std::memcpy(g->bias, b + 2, 2);
  read_six_bit_pairs(b + 4, g);
  const auto* q = reinterpret_cast<const uint8_t*>(b + 16);
  read_nibble_halves(q, g->code);
}

}  // namespace mlxcel::quant
