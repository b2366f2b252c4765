// rms_norm.h's formula on the device, with a tree of its own: thread j of 256 sums the squares of
// elements 4 j to 4 j + 3, 1,024 + 4 j, ... in order with fused multiply-adds; the threads of a
// warp are added as a fixed tree, the eight warps in order.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/operand.h"

namespace mlxcel {

struct CudaRmsNorm {
  const float* x = nullptr;     // [rows, dim]
  const float* gain = nullptr;  // [dim]
  float* y = nullptr;           // [rows, dim]; may be x
  int64_t rows = 0;
  int32_t dim = 0;
  float eps = 0;
  Operand copy;  // y as the rows of the next matmul, if words is set
};
void cuda_rms_norm(const CudaRmsNorm& args, CudaStream stream);

}  // namespace mlxcel
