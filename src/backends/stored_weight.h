// A weight of a file as kernels/quant sees it: what every backend that packs asks first.
#pragma once

#include "kernels/quant/format.h"
#include "ops/backend.h"

namespace mlxcel {

// Null where kernels/quant has no such format.
inline const quant::Format* stored_format(const WeightSource& s) {
  const AffineCodes& a = s.affine;
  if (a.small_floats()) return quant::find_mx(a.bits, a.group);
  if (a.bits > 0) return quant::find_affine(a.bits, a.group, a.scale_dtype);
  if (s.fp8.data != nullptr) return quant::find_fp8(s.fp8.rows, s.fp8.columns, s.out, s.in);
  return quant::find(s.dtype);
}

// Its rows in the file's order.
inline quant::PackSource stored_source(const WeightSource& s) {
  quant::PackSource source;
  source.data = s.data, source.scales = s.affine.scales, source.biases = s.affine.biases;
  source.out = s.out, source.in = s.in;
  if (s.fp8.data != nullptr) {
    source.scales = s.fp8.data, source.scale_type = s.fp8.dtype;
    source.scale_rows = s.fp8.rows, source.scale_columns = s.fp8.columns;
  }
  return source;
}

}  // namespace mlxcel
