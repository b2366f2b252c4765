// Weights whose coding no backend has: rewritten as one that all have, tensor by tensor at load.
//
//   mxfp4 of MLX    -> GGUF's MXFP4 blocks    the same bits in another order
//   mxfp8, nvfp4    -> bf16                   exact: e4m3 and e2m1 have few bits; more bytes
//   fp8 with scales -> bf16                   rounded once, as its publishers do
#pragma once

#include <cstdint>

#include "base/result.h"
#include "formats/file_tensor.h"
#include "ops/weight.h"

namespace mlxcel {

// MLX's codes (U32) with one scale byte a group. `s` has name, out and in; the rest is filled. The
// shapes tell the mode: 4 bits in groups of 32, 8 in groups of 32, 4 in groups of 16.
Status expand_mx(const FileTensor& codes, const FileTensor& scales, WeightSource& s);

// F8_E4M3 times its scales: one, one a row, or one for each block of `rows` x `columns`.
Status expand_fp8(const FileTensor& codes, const FileTensor& scales, int64_t rows, int64_t columns,
                  WeightSource& s);

}  // namespace mlxcel
