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
  for (int k = 0; k < 256; k++) {
    const int low = q[k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15;
    g->code[k] = static_cast<uint8_t>(low | (fifth[k % 32] >> k / 32 & 1) << 4);
  }
}

}  // namespace mlxcel::quant
