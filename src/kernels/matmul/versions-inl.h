// The list of coded kernels with what each is compiled for, so that an instruction set can have its
// own version of all of them. Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_VERSIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_VERSIONS_INL
#undef MLXCEL_VERSIONS_INL
#else
#define MLXCEL_VERSIONS_INL
#endif

#include "kernels/matmul/kernels.h"
#include "kernels/matmul/one_level-inl.h"
#include "kernels/matmul/two_level-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

// one(OneLevel<...>()) or two(TwoLevel<...>()), a MatmulKernel, for what `plain` computes; `plain`
// for floats.
template <DotBy by, class One, class Two>
MatmulKernel version_of(MatmulKernel plain, One one, Two two) {
  using S = SubScales;
  if (plain == matmul_u2) return one(OneLevel<Code::kU2, true, 0, by>());
  if (plain == matmul_u3) return one(OneLevel<Code::kU3, true, 0, by>());
  if (plain == matmul_u4) return one(OneLevel<Code::kU4, true, 0, by>());
  if (plain == matmul_u5) return one(OneLevel<Code::kU5, true, 0, by>());
  if (plain == matmul_u6) return one(OneLevel<Code::kU6, true, 0, by>());
  if (plain == matmul_u8) return one(OneLevel<Code::kU8, true, 0, by>());
  if (plain == matmul_q4_0) return one(OneLevel<Code::kU4, false, 8, by>());
  if (plain == matmul_q5_0) return one(OneLevel<Code::kU5, false, 16, by>());
  if (plain == matmul_q8_0) return one(OneLevel<Code::kU8, false, 128, by>());
  if (plain == matmul_mxfp4) return one(OneLevel<Code::kE2M1, false, 0, by>());
  if (plain == matmul_iq4_nl) return one(OneLevel<Code::kNL4, false, 0, by>());
  if (plain == matmul_q2_k) return two(TwoLevel<Code::kU2, S::kNibbles, true, 0, 16, by>());
  if (plain == matmul_q3_k) return two(TwoLevel<Code::kU3, S::kSix, false, 4, 16, by>());
  if (plain == matmul_q4_k) return two(TwoLevel<Code::kU4, S::kBytes, true, 0, 32, by>());
  if (plain == matmul_q5_k) return two(TwoLevel<Code::kU5, S::kBytes, true, 0, 32, by>());
  if (plain == matmul_q6_k) return two(TwoLevel<Code::kU6, S::kSigned, false, 32, 16, by>());
  return plain;
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
