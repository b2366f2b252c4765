// One function per weight format, each compiled in a file of its own.
#pragma once

#include "kernels/matmul/matmul_cuda.h"

namespace mlxcel::gpu {

template <class F>
void matmul_of(const CudaMatmul& args, CudaStream stream);

}  // namespace mlxcel::gpu

// Defines matmul_of for one format; for the .cu file of that format.
#define MLXCEL_MATMUL_OF(F)                                      \
  template <>                                                    \
  void matmul_of<F>(const CudaMatmul& args, CudaStream stream) { \
    if (args.x.tile == 0) {                                      \
      run_rows<F>(args, stream);                                 \
    } else {                                                     \
      run_tiles<F>(args, stream);                                \
    }                                                            \
  }
