// Random weights from a seed: tiny models for tests and shape-true big ones for speed, with finite
// logits.
//
// Every byte comes from integer arithmetic on (seed, weight's place, block), so any machine makes
// the same model.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ops/backend.h"
#include "weights/load.h"

namespace mlxcel {

// How matrices are stored.
struct RandomFormat {
  DType dtype = DType::kF32;  // F32, F16, BF16 or a block format of GGUF
  int affine_bits = 0;        // > 0: MLX's affine codes instead, with f16 scales
  int affine_group = 32;

  RandomFormat(DType d) : dtype(d) {}  // NOLINT(google-explicit-constructor): a DType is a format
  RandomFormat(int bits, int group) : affine_bits(bits), affine_group(group) {}
};

// Fills every weight that `visit` lists: matrices in `format` (F32 where rows do not divide into
// its blocks), about uniform with variance 1 / in; vectors near 1 in F32.
Status random_weights(const VisitWeights& visit, RandomFormat format, uint64_t seed,
                      Backend& backend);

}  // namespace mlxcel
