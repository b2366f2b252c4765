// GGUF's Q8_0: f16 d, then 32 signed bytes. w = d * q, groups of 32. The code is q + 128, and 128
// its offset, so that all 8-bit codes are unsigned.
#pragma once

#include <cstring>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline void read_q8_0(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  const auto* q = reinterpret_cast<const uint8_t*>(b + 2);
  for (int k = 0; k < 32; k++) g->code[k] = q[k] ^ 128;
}

}  // namespace mlxcel::quant
