// GGUF's Q2_K: 16 bytes of 4-bit sub-scales and sub-minima (groups of 16), 64 bytes of 2-bit codes,
// f16 d, f16 dmin. w = d * scale * code - dmin * min, groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline void read_q2_k(const std::byte* b, Group* g) {
  const auto* subs = reinterpret_cast<const uint8_t*>(b);
  const uint8_t* q = subs + 16;
  for (int s = 0; s < 16; s++) {
    g->sub_scale[s] = static_cast<int8_t>(subs[s] & 15);
    g->sub_min[s] = subs[s] >> 4;
  }
  for (int k = 0; k < 256; k++) g->code[k] = q[k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3;
  std::memcpy(g->scale, b + 80, 2);
  std::memcpy(g->bias, b + 82, 2);
}

}  // namespace mlxcel::quant
