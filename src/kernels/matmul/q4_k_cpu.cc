// Matmul of Q4_K and Q5_K.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/q4_k_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/two_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_q4_k(const MatmulArgs& a) {
  two_level<TwoLevel<Code::kU4, SubScales::kBytes, true, 0, 32>>(a);
}
void matmul_q5_k(const MatmulArgs& a) {
  two_level<TwoLevel<Code::kU5, SubScales::kBytes, true, 0, 32>>(a);
}
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_q4_k(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q4_k)(a); }
void matmul_q5_k(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q5_k)(a); }
}  // namespace mlxcel
#endif
