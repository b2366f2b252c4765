// y[m][n] = sum over k of w[n][k] * x[m][k], for packed weights (quant/format.h) and any number of
// rows, with equal bits for every row count, partition and instruction set.
//
// Two kinds of activations. Quantized: rows were rounded to int8 in groups (quantize.h). The tree
// of an output, for the groups g of K in order, starting from y = 0:
//   one level:  dot = sum of (number - offset) * x over 32 k            in integers, exact
//               y = fma(bias, xsum, y)                                  where a bias is stored
//               y = fma(scale * xscale, float(dot), y)                  the product rounded once
//   two levels: dot = sum of sub_scale * (number - offset) * x over 256 k           in integers
//               min = -(sum of sub_min * x over 256 k)                              in integers
//               y = fma(bias * xscale, float(min), y)                   where minima are stored
//               y = fma(scale * xscale, float(dot), y)
// Float: y = fma(w, x[m][k], y) for k in order, w as quant::unpack_row gives it. Float weights have
// float activations only.
// A chain may be cut anywhere by storing y and loading it again, so blocking over k costs no bit.
#pragma once

#include <cstdint>

#include "kernels/quant/format.h"

namespace mlxcel {

struct MatmulArgs {
  const quant::Format* format;
  const void* w;  // packed [out, in]
  int64_t out, in;
  const void* x;                    // quantized rows (quantize_rows) or float rows [rows, in]
  bool x_quantized;                 // REQUIRES: false for float weights
  int64_t first_row, last_row;      // of x and y; first_row % 4 == 0
  int64_t first_block, last_block;  // outputs [16 first_block, min(16 last_block, out))
  float* y;                         // [rows, ldy], row 0 of the whole
  int64_t ldy;
};

// One thread's share: the backend divides blocks, or rows and blocks, among threads.
void matmul(const MatmulArgs& args);

// The name of the code that `matmul` runs for this many rows: "direct", "panel", ...
const char* matmul_path(const quant::Format& f, bool x_quantized, int64_t rows);

// The tree in plain C++: every version equals it bit for bit.
void matmul_tree(const MatmulArgs& args);

}  // namespace mlxcel
