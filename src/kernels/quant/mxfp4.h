// MXFP4 as GGUF holds it: an exponent byte e, then 16 bytes of nibbles. w = 2^(e - 128) *
// kE2M1Values[code] (the values are doubled), groups of 32.
#pragma once

#include "kernels/quant/format.h"
#include "kernels/quant/nibbles.h"

namespace mlxcel::quant {

inline void read_mxfp4(const std::byte* b, Group* g) {
  g->scale[0] = b[0];
  read_nibbles(b + 1, g->code);
}

}  // namespace mlxcel::quant
