// Block = row.
#include "kernels/rms_norm/rms_norm_cuda.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

__global__ void __launch_bounds__(kNormThreads) rms_norm_kernel(CudaRmsNorm a) {
  __shared__ float sums[kNormThreads / 32];
  NormGain gain;
  gain.load(a.gain, a.dim, threadIdx.x);
  let_next_start();
  wait_for_inputs();
  const int row = blockIdx.x;
  const OperandRow copy(a.copy, row);
  norm_row(
      a.x + static_cast<size_t>(row) * a.dim, a.gain, gain, a.dim, a.eps, threadIdx.x, sums,
      [] { __syncthreads(); }, [&](int i, float4 v) { store_norm(a, copy, row, i, v); });
}

}  // namespace

void cuda_rms_norm(const CudaRmsNorm& a, CudaStream stream) {
  launch(rms_norm_kernel, dim3(static_cast<unsigned>(a.rows)), kNormThreads, 0, stream, a);
}

}  // namespace mlxcel
