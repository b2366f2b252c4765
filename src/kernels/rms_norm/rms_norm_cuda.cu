// Block = row. Rows of up to 4,096 elements stay in registers between the sum and the product.
#include "kernels/rms_norm/rms_norm_cuda.h"

#include "kernels/cuda/device.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

constexpr int kThreads = 256, kKept = 4;

__device__ float4 load4(const float* x, int i, int dim) {
  if (dim % 4 == 0 && i + 4 <= dim) return *reinterpret_cast<const float4*>(x + i);
  const auto at = [&](int j) { return j < dim ? x[j] : 0.0f; };
  return {at(i), at(i + 1), at(i + 2), at(i + 3)};
}

__device__ void store4(const CudaRmsNorm& a, int row, int i, float4 v, float inverse) {
  const float4 gain = load4(a.gain, i, a.dim);
  v.x = v.x * inverse * gain.x, v.y = v.y * inverse * gain.y;
  v.z = v.z * inverse * gain.z, v.w = v.w * inverse * gain.w;
  float* y = a.y + static_cast<size_t>(row) * a.dim + i;
  if (a.dim % 4 == 0) {
    *reinterpret_cast<float4*>(y) = v;
  } else {
    const float all[4] = {v.x, v.y, v.z, v.w};
    for (int j = 0; j < 4 && i + j < a.dim; j++) y[j] = all[j];
  }
  if (a.copy.words != nullptr) {
    a.copy.words[operand_word(a.copy, row, i)] = bf16_pair(v.x, v.y);
    a.copy.words[operand_word(a.copy, row, i + 2)] = bf16_pair(v.z, v.w);
  }
}

__global__ void __launch_bounds__(kThreads) rms_norm_kernel(CudaRmsNorm a) {
  __shared__ float sums[kThreads / 32];
  let_next_start();
  wait_for_inputs();
  const int row = blockIdx.x, first = threadIdx.x * 4;
  const float* x = a.x + static_cast<size_t>(row) * a.dim;
  float4 kept[kKept];
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kKept; j++) {
    kept[j] = load4(x, first + j * kThreads * 4, a.dim);
    sum = fma(kept[j].x, kept[j].x, sum), sum = fma(kept[j].y, kept[j].y, sum);
    sum = fma(kept[j].z, kept[j].z, sum), sum = fma(kept[j].w, kept[j].w, sum);
  }
  for (int i = first + kKept * kThreads * 4; i < a.dim; i += kThreads * 4) {
    const float4 v = load4(x, i, a.dim);
    sum = fma(v.x, v.x, sum), sum = fma(v.y, v.y, sum);
    sum = fma(v.z, v.z, sum), sum = fma(v.w, v.w, sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = sums[0];
  for (int i = 1; i < kThreads / 32; i++) total = total + sums[i];
  const float inverse =
      __fdiv_rn(1.0f, __fsqrt_rn(__fdiv_rn(total, static_cast<float>(a.dim)) + a.eps));
#pragma unroll
  for (int j = 0; j < kKept; j++) {
    const int i = first + j * kThreads * 4;
    if (i < a.dim) store4(a, row, i, kept[j], inverse);
  }
  for (int i = first + kKept * kThreads * 4; i < a.dim; i += kThreads * 4)
    store4(a, row, i, load4(x, i, a.dim), inverse);
}

}  // namespace

void cuda_rms_norm(const CudaRmsNorm& a, CudaStream stream) {
  launch(rms_norm_kernel, dim3(static_cast<unsigned>(a.rows)), kThreads, 0, stream, a);
}

}  // namespace mlxcel
