// GGUF's Q5_K: Q4_K with 32 bytes of fifth bits before the nibbles: bit k / 32 of byte k % 32.
#pragma once

#include "kernels/quant/q4_k.h"

namespace mlxcel::quant {

inline void read_q5_k(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  std::memcpy(g->bias, b + 2, 2);
  read_six_bit_pairs(b + 4, g);
  const auto* fifth = reinterpret_cast<const uint8_t*>(b + 16);
  const uint8_t* q = fifth + 32;
  read_nibble_halves(q, g->code);
  for (int bit = 0; bit < 8; bit++) {
    for (int i = 0; i < 32; i++) {
      g->code[32 * bit + i] =
          static_cast<uint8_t>(g->code[32 * bit + i] | (fifth[i] >> bit & 1) << 4);
    }
  }
}

}  // namespace mlxcel::quant
