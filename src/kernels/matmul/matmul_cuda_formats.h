// One function per weight format, each compiled in a file of its own.
#pragma once

#include "kernels/matmul/matmul_cuda.h"

namespace mlxcel::gpu {

template <class F>
void matmul_of(const CudaMatmul& args, CudaStream stream);

}  // namespace mlxcel::gpu

// Defines matmul_of for one format; for the .cu file of that format.
#define MLXCEL_MATMUL_OF(F)                                                   \
  template <>                                                                 \
  void matmul_of<F>(const CudaMatmul& args, CudaStream stream) {              \
    CudaMatmul a = args;                                                      \
    if (a.norm.x != nullptr && !rows_can_norm<F>(a)) {                        \
      cuda_rms_norm(a.norm, stream);                                          \
      a.norm = {};                                                            \
    }                                                                         \
    const bool rotates = a.rope.rows != nullptr, after = !rows_can_rotate(a); \
    if (rotates && after) a.rope = {};                                        \
    if (a.x.tile == 0) {                                                      \
      run_rows<F>(a, stream);                                                 \
    } else {                                                                  \
      a.x.tile <= 64 ? run_wide<F>(a, stream) : run_tiles<F, 128>(a, stream); \
    }                                                                         \
    if (rotates && after) cuda_rope_append(args.rope, stream);                \
  }
