// Matmul of 8-bit codes: Q8_0, MLX's affine 8 bits.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/u8_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_q8_0(const MatmulArgs& a) { one_level<OneLevel<Code::kU8, false, 128>>(a); }
void matmul_u8(const MatmulArgs& a) { one_level<OneLevel<Code::kU8, true, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_q8_0(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q8_0)(a); }
void matmul_u8(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_u8)(a); }
}  // namespace mlxcel
#endif
