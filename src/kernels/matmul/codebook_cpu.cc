// Matmul of 4-bit codes that name one of sixteen numbers: MXFP4, IQ4_NL.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/codebook_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/one_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
void matmul_mxfp4(const MatmulArgs& a) { one_level<OneLevel<Code::kE2M1, false, 0>>(a); }
void matmul_iq4_nl(const MatmulArgs& a) { one_level<OneLevel<Code::kNL4, false, 0>>(a); }
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_mxfp4(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_mxfp4)(a); }
void matmul_iq4_nl(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_iq4_nl)(a); }
}  // namespace mlxcel
#endif
