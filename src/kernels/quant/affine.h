// MLX's codes: a row is a little-endian stream of b-bit codes; scales and biases are arrays of
// their own. Affine: w = scale * code + bias, groups of 32, 64 or 128. mxfp4, mxfp8 and nvfp4: w =
// scale * number, a byte each; two groups of nvfp4 are one here.
#pragma once

#include <cstring>

#include "kernels/quant/layout.h"

namespace mlxcel::quant {

// Eight codes of kBits bits, from kBits bytes to a byte each: halves, quarters and single codes are
// moved apart in turn.
template <int kBits>
inline void spread_codes(const uint8_t* bytes, uint8_t* code) {
  constexpr auto low = [](int bits) { return (uint64_t{1} << bits) - 1; };
  constexpr uint64_t twos = low(2 * kBits) * 0x100000001u, ones = low(kBits) * 0x1000100010001u;
  uint64_t x = 0;
  std::memcpy(&x, bytes, kBits);
  x = (x & low(4 * kBits)) | x >> 4 * kBits << 32;
  x = (x & twos) | (x & twos << 2 * kBits) << (16 - 2 * kBits);
  x = (x & ones) | (x & ones << kBits) << (8 - kBits);
  std::memcpy(code, &x, 8);
}

// Codes of one group. [count], count % 32 == 0
template <int kBits>
inline void read_codes(const uint8_t* bytes, int count, uint8_t* code) {
  for (int k = 0; k < count; k += 32, bytes += 4 * kBits, code += 32) {
    if constexpr (kBits == 8) {
      std::memcpy(code, bytes, 32);
    } else if constexpr (kBits == 4) {  // vectors do it in fewer steps
      for (int i = 0; i < 16; i++) {
        code[2 * i] = bytes[i] & 15;
        code[2 * i + 1] = bytes[i] >> 4;
      }
    } else {
      for (int i = 0; i < 4; i++) spread_codes<kBits>(bytes + i * kBits, code + 8 * i);
    }
  }
}

// Group g of row `row` (of the file). REQUIRES: kBits == f.bits.
template <int kBits>
inline void read_affine_of(const Format& f, const PackSource& s, int64_t row, int64_t g,
                           Group* out) {
  const int64_t at = row * (s.in / f.group) + g;
  read_codes<kBits>(reinterpret_cast<const uint8_t*>(s.data) + at * (f.group * kBits / 8), f.group,
                    out->code);
  const int width = scale_bytes(f.scale) * scales_per_record(f);
  std::memcpy(out->scale, s.scales + at * width, width);
  if (f.bias) std::memcpy(out->bias, s.biases + at * width, width);
}

inline void read_affine(const Format& f, const PackSource& s, int64_t row, int64_t g, Group* out) {
  switch (f.bits) {
    case 2:
      return read_affine_of<2>(f, s, row, g, out);
    case 3:
      return read_affine_of<3>(f, s, row, g, out);
    case 4:
      return read_affine_of<4>(f, s, row, g, out);
    case 5:
      return read_affine_of<5>(f, s, row, g, out);
    case 6:
      return read_affine_of<6>(f, s, row, g, out);
    case 8:
      return read_affine_of<8>(f, s, row, g, out);
  }
}

}  // namespace mlxcel::quant
