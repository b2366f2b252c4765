// GGUF's Q6_K: 128 bytes of nibbles, 64 bytes of high bits, 16 signed sub-scales (groups of 16),
// f16 d. w = d * scale * (code - 32), groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline void read_q6_k(const std::byte* b, Group* g) {
  const auto* q = reinterpret_cast<const uint8_t*>(b);
  const uint8_t* high = q + 128;
  for (int half = 0; half < 2; half++, q += 64, high += 32) {
    for (int part = 0; part < 4; part++) {  // 32 codes
      uint8_t* code = g->code + half * 128 + part * 32;
      const uint8_t* low = q + part % 2 * 32;
      for (int i = 0; i < 32; i++) {
        const int nibble = low[i] >> part / 2 * 4 & 15, two = high[i] >> part * 2 & 3;
        code[i] = static_cast<uint8_t>(nibble | two << 4);
      }
    }
  }
  std::memcpy(g->sub_scale, b + 192, 16);
  std::memcpy(g->scale, b + 208, 2);
}

}  // namespace mlxcel::quant
