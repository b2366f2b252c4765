// What a build without nvcc has instead of the CUDA backend.
#include "backends/cuda/cuda.h"

namespace mlxcel {

bool has_cuda_backend() { return false; }
int cuda_devices() { return 0; }
CudaOptions cuda_options_from_environment(int) { return {}; }

Result<std::unique_ptr<CudaBackend>> make_cuda_backend(const CudaOptions&) {
  return Error{Code::kUnsupported,
               "device cuda: expected a build with CUDA, found one without (configure with nvcc on "
               "the path)"};
}

}  // namespace mlxcel
