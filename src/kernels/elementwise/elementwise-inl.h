// elementwise.h's functions of one register, for kernels that fuse them. Include after
// kernels/targets.h, inside no namespace.
#if defined(MLXCEL_ELEMENTWISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_ELEMENTWISE_INL
#undef MLXCEL_ELEMENTWISE_INL
#else
#define MLXCEL_ELEMENTWISE_INL
#endif

#include "kernels/elementwise/elementwise.h"
#include "kernels/vector_math/vector_math-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

HWY_INLINE VF silu(VF x) { return hn::Div(x, hn::Add(hn::Set(F(), 1), exp(hn::Neg(x)))); }

HWY_INLINE VF gelu_tanh(VF x) {
  const F f;
  const VF u = hn::MulAdd(hn::Mul(x, x), hn::Set(f, kGeluCubic), hn::Set(f, kGeluLinear));
  return hn::Div(x, hn::Add(hn::Set(f, 1), exp(hn::Mul(x, u))));
}

HWY_INLINE VF softcap(VF x, VF cap) { return hn::Mul(cap, tanh(hn::Div(x, cap))); }

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
