// Instantiates the matmul kernels for Code4Half weights.
#include "kernels/matmul/matmul_cuda_formats.h"
#include "kernels/matmul/matmul_rows.cuh"
#include "kernels/matmul/matmul_tiles.cuh"
#include "kernels/matmul/matmul_wide.cuh"

namespace mlxcel::gpu {

MLXCEL_MATMUL_OF(Code4Half)

}  // namespace mlxcel::gpu
