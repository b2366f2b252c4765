// Instantiates the matmul kernels for Code8Half weights.
#include "kernels/matmul/matmul_cuda_formats.h"
#include "kernels/matmul/matmul_rows.cuh"
#include "kernels/matmul/matmul_tiles.cuh"
#include "kernels/matmul/matmul_wide.cuh"

namespace mlxcel::gpu {

MLXCEL_MATMUL_OF(Code8Half)

}  // namespace mlxcel::gpu
