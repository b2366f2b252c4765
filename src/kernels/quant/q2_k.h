// GGUF's Q2_K: 16 bytes of 4-bit sub-scales and sub-minima (groups of 16), 64 bytes of 2-bit codes,
// f16 d, f16 dmin. w = d * scale * code - dmin * min, groups of 256.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

// 32 bytes hold 128 codes: 32 in their lowest two bits, the next 32 in the next two, and so on.
inline void read_twos(const uint8_t* q, uint8_t* code) {
  for (int part = 0; part < 8; part++) {
    for (int i = 0; i < 32; i++) code[32 * part + i] = q[part / 4 * 32 + i] >> part % 4 * 2 & 3;
  }
}

inline void read_q2_k(const std::byte* b, Group* g) {
  const auto* subs = reinterpret_cast<const uint8_t*>(b);
  const uint8_t* q = subs + 16;
  for (int s = 0; s < 16; s++) {
    g->sub_scale[s] = static_cast<int8_t>(subs[s] & 15);
    g->sub_min[s] = subs[s] >> 4;
  }
  read_twos(q, g->code);
  std::memcpy(g->scale, b + 80, 2);
  std::memcpy(g->bias, b + 82, 2);
}

}  // namespace mlxcel::quant
