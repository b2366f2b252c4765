// Matmul of unsigned 4-bit codes: Q4_0, Q4_1, MLX's affine 4 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u4_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_q4_0(const MatmulArgs& a) { one_level<OneLevel<Code::kU4, false, 8>>(a); }
void matmul_u4(const MatmulArgs& a) { one_level<OneLevel<Code::kU4, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_q4_0(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q4_0)(a); }
void matmul_u4(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u4)(a); }
}  // namespace mlxcel
#endif
