// Which coding each weight of a checkpoint gets when it is converted.
#pragma once

#include <string>
#include <vector>

#include "weights/convert.h"

namespace mlxcel {

struct PlannedWeight {
  std::string name;                   // as Hugging Face spells it
  std::vector<WeightSource> sources;  // one, or those of a stack of experts
  bool vector = false, stacked = false;
  float minus = 0;  // of vectors: what the source holds more than the published value
  TargetCoding to;

  const WeightSource& first() const { return sources.front(); }
  // "model.layers.0.mlp.up_proj" of "model.layers.0.mlp.up_proj.weight"
  std::string module() const { return name.substr(0, name.rfind('.')); }
};

// Experts become one weight [experts, out, in] under MLX's name.
Result<std::vector<PlannedWeight>> plan_conversion(const Checkpoint& checkpoint,
                                                   const VisitWeights& visit,
                                                   const ConvertOptions& options,
                                                   const Recoder& recoder);

// config.json's block: the most frequent coding, and by module whatever differs from it.
json::object quantization_block(const std::vector<PlannedWeight>& weights);

// The value of element i of a vector, or none if its type is not a float's.
std::optional<float> vector_element(const WeightSource& source, int64_t i);

}  // namespace mlxcel
