// Elementwise functions and copies of rows on the device; the functions have the bits of
// elementwise.h.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/operand.h"

namespace mlxcel {

struct CudaMap {
  enum class F : int32_t { kAdd, kMul, kScale, kSilu, kGeluTanh, kSoftcap };
  F f = F::kAdd;
  float factor = 0;
  const float *a = nullptr, *b = nullptr;
  float* y = nullptr;  // may be a
  int64_t n = 0;
};
void cuda_map(const CudaMap& args, CudaStream stream);

// y[r][c] = x[row of r][first + c]
struct CudaGather {
  const float* x = nullptr;
  float* y = nullptr;
  const int32_t* ids = nullptr;  // null: r
  int64_t rows = 0, dim = 0, first = 0, count = 0;
};
void cuda_gather(const CudaGather& args, CudaStream stream);

// x [rows, k] as the rows of a matmul; k past the end is 0.
struct CudaToOperand {
  const float* x = nullptr;
  Operand to;
};
void cuda_to_operand(const CudaToOperand& args, CudaStream stream);

}  // namespace mlxcel
