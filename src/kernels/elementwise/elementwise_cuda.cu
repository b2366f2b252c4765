// A thread per element, or per pair of k where a matmul's rows are made.
#include "kernels/elementwise/elementwise_cuda.h"

#include "kernels/cuda/device.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

__device__ float apply(const CudaMap& a, int64_t i) {
  switch (a.f) {
    case CudaMap::F::kAdd:
      return a.a[i] + a.b[i];
    case CudaMap::F::kMul:
      return a.a[i] * a.b[i];
    case CudaMap::F::kScale:
      return a.a[i] * a.factor;
    case CudaMap::F::kSilu:
      return silu(a.a[i]);
    case CudaMap::F::kGeluTanh:
      return gelu_tanh(a.a[i]);
    case CudaMap::F::kSoftcap:
      return softcap(a.a[i], a.factor);
  }
  return 0;
}

__global__ void map_kernel(CudaMap a) {
  let_next_start();
  wait_for_inputs();
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < a.n) a.y[i] = apply(a, i);
}

__global__ void gather_kernel(CudaGather a) {
  let_next_start();
  wait_for_inputs();
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= a.rows * a.count) return;
  const int64_t r = i / a.count, c = i % a.count;
  a.y[i] = a.x[(a.ids ? a.ids[r] : r) * a.dim + a.first + c];
}

__global__ void operand_kernel(CudaToOperand a) {
  let_next_start();
  wait_for_inputs();
  const int64_t pairs = a.to.padded_k / 2;
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= a.to.rows * pairs) return;
  const int row = static_cast<int>(i / pairs), k = static_cast<int>(i % pairs) * 2;
  const float* x = a.x + static_cast<int64_t>(row) * a.to.k + k;
  OperandRow(a.to, row).at(k) = bf16_pair(k < a.to.k ? x[0] : 0, k + 1 < a.to.k ? x[1] : 0);
}

dim3 grid_of(int64_t n) { return dim3(static_cast<unsigned>((n + 255) / 256)); }

}  // namespace

void cuda_map(const CudaMap& a, CudaStream stream) {
  launch(map_kernel, grid_of(a.n), 256, 0, stream, a);
}
void cuda_gather(const CudaGather& a, CudaStream stream) {
  launch(gather_kernel, grid_of(a.rows * a.count), 256, 0, stream, a);
}
void cuda_to_operand(const CudaToOperand& a, CudaStream stream) {
  launch(operand_kernel, grid_of(static_cast<int64_t>(a.to.rows) * a.to.padded_k / 2), 256, 0,
         stream, a);
}

}  // namespace mlxcel
