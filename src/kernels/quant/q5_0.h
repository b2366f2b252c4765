// GGUF's Q5_0: f16 d, 32 fifth bits, 16 bytes of nibbles. w = d * (code - 16), groups of 32.
#pragma once

#include "kernels/quant/format.h"
#include "kernels/quant/nibbles.h"

namespace mlxcel::quant {

inline void read_q5_0(const std::byte* b, Group* g) {
  std::memcpy(g->scale, b, 2);
  read_nibbles(b + 6, g->code);
  add_fifth_bits(b + 2, g->code);
}

}  // namespace mlxcel::quant
