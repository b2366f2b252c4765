// The options of the CUDA backend as the environment sets them.
#include <cstdlib>
#include <cstring>

#include "backends/cuda/cuda.h"

namespace mlxcel {
namespace {

bool on(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || std::strcmp(value, "0") != 0;
}

}  // namespace

CudaOptions cuda_options_from_environment(int device) {
  return {.device = device,
          .graphs = on("MLXCEL_CUDA_GRAPH"),
          .share_parts = on("MLXCEL_CUDA_SHARE_PARTS"),
          .fused_norm = on("MLXCEL_FUSED_NORM"),
          .fused_linears = on("MLXCEL_FUSED_LINEARS"),
          .fused_gated = on("MLXCEL_FUSED_GATED"),
          .fused_linear_add = on("MLXCEL_FUSED_LINEAR_ADD"),
          .fused_rope_append = on("MLXCEL_FUSED_ROPE_APPEND")};
}

}  // namespace mlxcel
