// The reference backend: every op as its definition, in double. The oracle of conformance tests;
// slow on purpose.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace mlxcel {

// Roundings of another backend that the reference can be asked to make too, each at the place where
// that backend makes it, so that what is left between the two is f32 rounding.
struct RefOptions {
  bool kv_f16 = false;  // keys and values as f16
  bool act_int8 =
      false;  // inputs of quantized matrices as int8 in groups of 32 (kernels/matmul/quantize.h)
  // The CUDA backend's: inputs of all matrices, weights of up to 4 bits, queries, keys, values and
  // softmax weights as bf16.
  bool bf16 = false;
};

std::unique_ptr<Backend> make_ref_backend(const RefOptions& options = {});

}  // namespace mlxcel
