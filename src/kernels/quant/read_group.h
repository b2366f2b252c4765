// One group of a row, from whichever layout its file has.
#pragma once

#include "kernels/quant/affine.h"
#include "kernels/quant/fp8.h"

namespace mlxcel::quant {

// Group g of row `row` (of the file).
inline void read_group(const Format& f, const PackSource& s, int64_t row, int64_t g, Group* out) {
  if (f.read != nullptr) {
    f.read(s.data + (row * (s.in / f.group) + g) * info(f.dtype).bytes, out);
  } else if (f.dtype == DType::kF8_E4M3) {
    read_fp8(f, s, row, g, out);
  } else {
    read_affine(f, s, row, g, out);
  }
}

}  // namespace mlxcel::quant
