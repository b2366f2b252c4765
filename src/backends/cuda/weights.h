// Weights as the CUDA backend keeps them, and how they get there.
#pragma once

#include "backends/cuda/device.h"
#include "kernels/quant/quant_cuda.h"
#include "ops/weight.h"

namespace mlxcel {

struct CudaMatrix final : WeightData {
  CudaMemory memory;
  CudaWeight view;
};

struct CudaVector final : WeightData {
  CudaMemory memory;  // floats
};

inline const CudaWeight& cuda(const Matrix& m) {
  return static_cast<const CudaMatrix&>(*m.data).view;
}
inline const float* cuda(const Vector& v) {
  return static_cast<const CudaVector&>(*v.data).memory.as<float>();
}

class CudaWeightLoader {
 public:
  explicit CudaWeightLoader(cudaStream_t stream) : stream_(stream) {}

  Result<Matrix> matrix(const WeightSource& source);
  Result<Vector> vector(const WeightSource& source);
  static int64_t matrix_bytes(const WeightSource& source);
  Result<Matrix> random(int64_t out, int64_t in, CudaFormat format, uint64_t seed);
  void release() { staging_ = CudaMemory(); }  // after loading

 private:
  Status pack_file(const WeightSource& source, CudaPack pack);
  Status pack_as_bf16(const WeightSource& source, CudaPack pack);
  Status pack_expanded(const WeightSource& source, CudaPack pack);
  Status upload(std::initializer_list<std::pair<const std::byte*, int64_t>> pieces);

  cudaStream_t stream_;
  CudaMemory staging_;  // on the device: a weight as its file holds it
  int64_t at_[3] = {};  // where upload put its pieces
};

}  // namespace mlxcel
