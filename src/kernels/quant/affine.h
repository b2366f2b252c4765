// MLX's affine codes: a row is a little-endian stream of b-bit codes; scales and biases are arrays
// of their own. w = scale * code + bias, groups of 32, 64 or 128.
#pragma once

#include <cstring>

#include "kernels/quant/layout.h"

namespace mlxcel::quant {

// Group g of row `row` (of the file).
inline void read_affine(const Format& f, const PackSource& s, int64_t row, int64_t g, Group* out) {
  const int64_t groups = s.in / f.group, at = row * groups + g;
  const auto* bits = reinterpret_cast<const uint8_t*>(s.data) + at * (f.group * f.bits / 8);
  uint32_t window = 0;
  for (int k = 0, have = 0; k < f.group; k++, have -= f.bits) {
    if (have < f.bits) window |= static_cast<uint32_t>(*bits++) << have, have += 8;
    out->code[k] = static_cast<uint8_t>(window & ((1u << f.bits) - 1));
    window >>= f.bits;
  }
  const int width = scale_bytes(f.scale);
  std::memcpy(out->scale, s.scales + at * width, width);
  std::memcpy(out->bias, s.biases + at * width, width);
}

}  // namespace mlxcel::quant
