// Writes a checkpoint of any family with random weights, as MLX quantizes one: shape-true, so that
// speed can be measured where weights cannot be had, and with finite logits.
//
// Every byte comes from integer arithmetic on (seed, weight's place, word): any machine writes the
// same files.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "weights/load.h"

namespace mlxcel {

struct SyntheticOptions {
  int bits = 4;         // 2, 3, 4, 5, 6, 8: MLX's affine codes; 16: bf16
  int group_size = 64;  // 32, 64, 128
  uint64_t seed = 1;
  int64_t shard_bytes = int64_t{5} << 30;
};

// Into `directory`, which exists; config.json is the caller's. Rows that groups do not divide stay
// bf16, as MLX keeps them.
Status write_synthetic(const VisitWeights& visit, const SyntheticOptions& options,
                       const std::string& directory);

}  // namespace mlxcel
