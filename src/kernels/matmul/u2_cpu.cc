// Matmul of unsigned 2-bit codes: MLX's affine 2 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u2_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_u2(const MatmulArgs& a) { one_level<OneLevel<Code::kU2, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_u2(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u2)(a); }
}  // namespace mlxcel
#endif
