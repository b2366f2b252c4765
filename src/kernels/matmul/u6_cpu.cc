// Matmul of unsigned 6-bit codes: MLX's affine 6 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u6_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_u6(const MatmulArgs& a) { one_level<OneLevel<Code::kU6, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_u6(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u6)(a); }
}  // namespace mlxcel
#endif
