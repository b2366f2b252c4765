// Writes the weights of any checkpoint in MLX's layout: what `convert` does to them.
//
// Codes that the target can hold are kept, so that nothing is lost; what cannot be is quantized as
// MLX does. Rows go from the mapped file to the new one a few megabytes at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "formats/checkpoint.h"
#include "ops/recode.h"
#include "weights/load.h"

namespace mlxcel {

struct ConvertOptions {
  int bits = 0;                // 0: as the source has them, as far as MLX does
  int group_size = 0;          // 0: the source's, or the mode's usual one
  std::string mode;            // "": affine, or the source's; affine, mxfp4, mxfp8, nvfp4
  std::string recipe;          // "", or mixed_2_6, mixed_3_4, mixed_3_6, mixed_4_6
  std::optional<DType> dtype;  // of floats, scales and biases; none: the source's
  int64_t shard_bytes = int64_t{5} << 30;
};

// What became of the weights that were coded alike.
struct ConvertedKind {
  std::string from, to;  // "Q4_1", "4 bits in groups of 32, F16"
  int64_t weights = 0;
  bool exact = true;  // every number is what it was
};

struct Converted {
  std::vector<ConvertedKind> kinds;
  json::object quantization;  // for config.json; empty: nothing is coded
  int64_t bytes = 0;          // of all tensors
};

// Called with bytes written and in total; an error of its own ends the conversion.
using ConvertProgress = std::function<Status(int64_t done, int64_t total)>;

// Writes model.safetensors, or shards and their index, into `directory`.
Result<Converted> convert_weights(const Checkpoint& checkpoint, const VisitWeights& visit,
                                  const ConvertOptions& options, Recoder& recoder,
                                  const std::string& directory,
                                  const ConvertProgress& progress = {});

}  // namespace mlxcel
