// Matmul of unsigned 5-bit codes: Q5_0, Q5_1, MLX's affine 5 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u5_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_q5_0(const MatmulArgs& a) { one_level<OneLevel<Code::kU5, false, 16>>(a); }
void matmul_u5(const MatmulArgs& a) { one_level<OneLevel<Code::kU5, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_q5_0(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q5_0)(a); }
void matmul_u5(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u5)(a); }
}  // namespace mlxcel
#endif
