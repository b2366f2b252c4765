// GGUF's Q4_0: f16 d, then 16 bytes of nibbles. w = d * (code - 8), groups of 32.
#pragma once

#include "kernels/quant/format.h"
#include "kernels/quant/nibbles.h"

namespace mlxcel::quant {

inline void read_q4_0(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  read_nibbles(b + 2, g->code);
}

}  // namespace mlxcel::quant
