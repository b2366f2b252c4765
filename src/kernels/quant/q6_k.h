// GGUF's Q6_K: 128 bytes of nibbles, 64 bytes of high bits, 16 signed sub-scales (groups of 16),
// f16 d. w = d * scale * (code - 32), groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline void read_q6_k(const std::byte* b, Group* g) {
  const auto* q = reinterpret_cast<const uint8_t*>(b);
  const uint8_t* high = q + 128;
  for (int k = 0; k < 256; k++) {
    const int half = k / 128, i = k % 128;
    const int low = q[half * 64 + i % 64] >> i / 64 * 4 & 15;
    g->code[k] = static_cast<uint8_t>(low | (high[half * 32 + i % 32] >> i / 32 * 2 & 3) << 4);
  }
  std::memcpy(g->sub_scale, b + 192, 16);
  std::memcpy(g->scale, b + 208, 2);
}

}  // namespace mlxcel::quant
