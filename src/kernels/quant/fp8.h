// fp8 as Hugging Face holds it: [out, in] bytes of e4m3, and one float scale for each block of rows
// x columns (a row, the whole matrix). w = scale * e4m3(code). A record is as long as blocks and
// rows divide; its scale is halved, for e4m3's numbers are doubled.
#pragma once

#include <cstring>

#include "base/half.h"
#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline float fp8_scale(const PackSource& s, int64_t row, int64_t k) {
  const int64_t across = (s.in + s.scale_columns - 1) / s.scale_columns;
  const int64_t i = row / s.scale_rows * across + k / s.scale_columns;
  if (s.scale_type == DType::kF32) {
    float f;
    std::memcpy(&f, s.scales + 4 * i, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, s.scales + 2 * i, 2);
  return s.scale_type == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

// Group g of row `row` (of the file).
inline void read_fp8(const Format& f, const PackSource& s, int64_t row, int64_t g, Group* out) {
  std::memcpy(out->code, s.data + row * s.in + g * f.group, static_cast<size_t>(f.group));
  const float half = 0.5f * fp8_scale(s, row, g * f.group);
  std::memcpy(out->scale, &half, 4);
}

}  // namespace mlxcel::quant
