// One row of rms_norm_cuda.h's tree, for the kernels that make rows.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/rms_norm/rms_norm_cuda.h"

namespace mlxcel::gpu {

inline constexpr int kNormThreads = 256;

MLXCEL_DEVICE float4 load4(const float* x, int i, int dim) {
  if (dim % 4 == 0 && i + 4 <= dim) return *reinterpret_cast<const float4*>(x + i);
  const auto at = [&](int j) { return j < dim ? x[j] : 0.0f; };
  return {at(i), at(i + 1), at(i + 2), at(i + 3)};
}

inline constexpr int kNormKept = 4, kNormStep = kNormThreads * 4;

// What thread j of kNormThreads needs of the gain of the first 4,096 elements. A constant: it is
// asked for before the rows are there.
struct NormGain {
  float4 kept[kNormKept];
  __device__ __forceinline__ void load(const float* gain, int dim, int j) {
#pragma unroll
    for (int n = 0; n < kNormKept; n++) kept[n] = load4(gain, j * 4 + n * kNormStep, dim);
  }
};

// For kNormThreads threads, of which this is number `j`: store(i, v) gets elements i to i + 3.
// `sums` is shared memory for eight floats, sync() a barrier of these threads. Rows of up to 4,096
// elements stay in registers between the sum and the product.
template <class Sync, class Store>
MLXCEL_DEVICE void norm_row(const float* x, const float* gain, const NormGain& early, int dim,
                            float eps, int j, float* sums, Sync sync, Store store) {
  constexpr int kKept = kNormKept, kStep = kNormStep;
  const int first = j * 4;
  float4 kept[kKept];
  float sum = 0;
  const auto add = [&](float4 v) {
    sum = fma(v.x, v.x, sum), sum = fma(v.y, v.y, sum);
    sum = fma(v.z, v.z, sum), sum = fma(v.w, v.w, sum);
  };
#pragma unroll
  for (int n = 0; n < kKept; n++) kept[n] = load4(x, first + n * kStep, dim);
#pragma unroll
  for (int n = 0; n < kKept; n++) add(kept[n]);
  for (int i = first + kKept * kStep; i < dim; i += kStep) add(load4(x, i, dim));
  sum = warp_sum(sum);
  if (j % 32 == 0) sums[j / 32] = sum;
  sync();
  float total = sums[0];
  for (int i = 1; i < kNormThreads / 32; i++) total = total + sums[i];
  const float inverse =
      __fdiv_rn(1.0f, __fsqrt_rn(__fdiv_rn(total, static_cast<float>(dim)) + eps));
  const auto finish = [&](int i, float4 v, float4 g) {
    v.x = v.x * inverse * g.x, v.y = v.y * inverse * g.y;
    v.z = v.z * inverse * g.z, v.w = v.w * inverse * g.w;
    store(i, v);
  };
#pragma unroll
  for (int n = 0; n < kKept; n++) {
    const int i = first + n * kStep;
    if (i < dim) finish(i, kept[n], early.kept[n]);
  }
  for (int i = first + kKept * kStep; i < dim; i += kStep)
    finish(i, load4(x, i, dim), load4(gain, i, dim));
}

// `copy`: the row in a.copy, if there is one.
MLXCEL_DEVICE void store_norm(const CudaRmsNorm& a, const OperandRow& copy, int row, int i,
                              float4 v) {
  float* y = a.y + static_cast<size_t>(row) * a.dim + i;
  if (a.dim % 4 == 0) {
    *reinterpret_cast<float4*>(y) = v;
  } else {
    const float all[4] = {v.x, v.y, v.z, v.w};
    for (int j = 0; j < 4 && i + j < a.dim; j++) y[j] = all[j];
  }
  if (a.copy.words != nullptr) {
    copy.put4(i, bf16_pair(v.x, v.y), bf16_pair(v.z, v.w));
  }
}

}  // namespace mlxcel::gpu
