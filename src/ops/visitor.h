// How a family lists its weights: loading, checking, counting and making random ones are all
// visitors.
#pragma once

#include <string>

#include "ops/tensor.h"
#include "ops/weight.h"

namespace mlxcel {

// How tensor parallelism may cut a matrix.
enum class Split { kNone, kRows, kColumns };

struct WeightSpec {
  std::string name;  // as Hugging Face spells it: "model.layers.0.mlp.up_proj.weight"
  std::string gguf;  // as GGUF spells it: "blk.0.ffn_up.weight"
  Split split = Split::kNone;
  int gguf_rope_heads =
      0;           // GGUF stores the rows permuted for this many heads (WeightSource::rope_heads)
  float plus = 0;  // the value is this plus what is stored; GGUF stores the sum

  // One of `experts` equal matrices. GGUF, and MLX under the name `stacked`, hold all of them in
  // one tensor [experts, out, in]; Hugging Face has each under its own name.
  int expert = -1, experts = 0;
  std::string stacked{};
  bool precise = false;  // few weights that decide much: what converts keeps them in float
};

class WeightVisitor {
 public:
  virtual ~WeightVisitor() = default;
  virtual void matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) = 0;
  virtual void vector(Vector& v, int64_t size, const WeightSpec& spec) = 0;
};

}  // namespace mlxcel
