// Matmul of unsigned 3-bit codes: MLX's affine 3 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u3_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_u3(const MatmulArgs& a) { one_level<OneLevel<Code::kU3, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_u3(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u3)(a); }
}  // namespace mlxcel
#endif
