// Picks the kernel for a weight's format.
#include "kernels/matmul/matmul_cuda.h"

#include "kernels/matmul/matmul_cuda_formats.h"
#include "kernels/quant/fragment.cuh"

namespace mlxcel {

namespace gpu {
template <>
void matmul_of<Affine4>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<Code4Half>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<Code8Half>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<Code8Float>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<Bf16>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<F16>(const CudaMatmul&, CudaStream);
template <>
void matmul_of<F32>(const CudaMatmul&, CudaStream);
}  // namespace gpu

void cuda_matmul(const CudaMatmul& a, CudaStream stream) {
  using namespace gpu;
  switch (a.w[0].format) {
    case CudaFormat::kAffine4:
      return matmul_of<Affine4>(a, stream);
    case CudaFormat::kCode4Half:
      return matmul_of<Code4Half>(a, stream);
    case CudaFormat::kCode8Half:
      return matmul_of<Code8Half>(a, stream);
    case CudaFormat::kCode8Float:
      return matmul_of<Code8Float>(a, stream);
    case CudaFormat::kBF16:
      return matmul_of<Bf16>(a, stream);
    case CudaFormat::kF16:
      return matmul_of<F16>(a, stream);
    case CudaFormat::kF32:
      return matmul_of<F32>(a, stream);
  }
}

}  // namespace mlxcel
