// GGUF's Q5_1: f16 d, f16 m, 32 fifth bits, 16 bytes of nibbles. w = d * code + m, groups of 32.
#pragma once

#include "kernels/quant/format.h"
#include "kernels/quant/nibbles.h"

namespace mlxcel::quant {

inline void read_q5_1(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  std::memcpy(g->bias, b + 2, 2);
  read_nibbles(b + 8, g->code);
  add_fifth_bits(b + 4, g->code);
}

}  // namespace mlxcel::quant
