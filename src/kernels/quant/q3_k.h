// GGUF's Q3_K: 32 bytes of third bits, 64 bytes of low bits, 12 bytes of 6-bit sub-scales (groups
// of 16, offset 32), f16 d. w = d * scale * (code - 4), groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"
#include "kernels/quant/q2_k.h"

namespace mlxcel::quant {

inline void read_q3_k(const std::byte* b, Group* g) {
  const auto* third = reinterpret_cast<const uint8_t*>(b);
  const uint8_t *q = third + 32, *subs = q + 64;
  read_twos(q, g->code);
  for (int bit = 0; bit < 8; bit++) {
    for (int i = 0; i < 32; i++) {
      g->code[32 * bit + i] =
          static_cast<uint8_t>(g->code[32 * bit + i] | (third[i] >> bit & 1) << 2);
    }
  }
  for (int s = 0; s < 16; s++) {
    const int low = subs[s % 8] >> s / 8 * 4 & 15, high = subs[8 + s % 4] >> s / 4 * 2 & 3;
    g->sub_scale[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  std::memcpy(g->scale, b + 108, 2);
}

}  // namespace mlxcel::quant
