// Matmul of Q2_K, Q3_K and Q6_K.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/q6_k_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/two_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_q2_k(const MatmulArgs& a) {
  two_level<TwoLevel<Code::kU2, SubScales::kNibbles, true, 0, 16>>(a);
}
void matmul_q3_k(const MatmulArgs& a) {
  two_level<TwoLevel<Code::kU3, SubScales::kSix, false, 4, 16>>(a);
}
void matmul_q6_k(const MatmulArgs& a) {
  two_level<TwoLevel<Code::kU6, SubScales::kSigned, false, 32, 16>>(a);
}
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_q2_k(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q2_k)(a); }
void matmul_q3_k(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q3_k)(a); }
void matmul_q6_k(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_q6_k)(a); }
}  // namespace mlxcel
#endif
