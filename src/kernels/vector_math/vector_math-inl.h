// vector_math.h on sixteen lanes: the same operations in the same order. Include after
// kernels/targets.h, inside no namespace.
#if defined(MLXCEL_VECTOR_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_VECTOR_MATH_INL
#undef MLXCEL_VECTOR_MATH_INL
#else
#define MLXCEL_VECTOR_MATH_INL
#endif

#include "kernels/lanes-inl.h"
#include "kernels/vector_math/vector_math.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

namespace vm = ::mlxcel::vector_math;
using I = hn::RebindToSigned<F>;

template <int n>
HWY_INLINE VF polynomial(const float (&c)[n], VF x) {
  VF y = hn::Set(F(), c[n - 1]);
  for (int i = n - 2; i >= 0; i--) y = hn::MulAdd(y, x, hn::Set(F(), c[i]));
  return y;
}

// exp() of x <= 0 that is not NaN: equal bits with two selections less.
HWY_INLINE VF exp_nonpositive(VF x) {
  const F f;
  const I i;
  const VF round = hn::Set(f, vm::kRound);
  const VF shifted = hn::MulAdd(x, hn::Set(f, vm::kLog2E), round);
  const VF n = hn::Sub(shifted, round);
  const VF r = hn::MulAdd(n, hn::Set(f, -vm::kLn2Low), hn::MulAdd(n, hn::Set(f, -vm::kLn2High), x));
  const VF p = hn::Add(hn::MulAdd(polynomial(vm::kExp, r), hn::Mul(r, r), r), hn::Set(f, 1));
  const VF y =
      hn::BitCast(f, hn::Add(hn::BitCast(i, p), hn::ShiftLeft<23>(hn::BitCast(i, shifted))));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f, vm::kExpLow)), y);
}

HWY_INLINE VF exp(VF x) {
  const F f;
  const VF y =
      hn::IfThenElse(hn::Gt(x, hn::Set(f, vm::kExpHigh)),
                     hn::Set(f, std::numeric_limits<float>::infinity()), exp_nonpositive(x));
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

HWY_INLINE VF log_parts(VF z, VF n) {
  const F f;
  const VF zz = hn::Mul(z, z);
  VF y = hn::MulAdd(n, hn::Set(f, vm::kLn2Low), hn::Mul(hn::Mul(polynomial(vm::kLog, z), z), zz));
  y = hn::MulAdd(zz, hn::Set(f, -0.5f), y);
  return hn::MulAdd(n, hn::Set(f, vm::kLn2High), hn::Add(z, y));
}

HWY_INLINE VF log(VF x) {  // REQUIRES: positive, normal and finite
  const F f;
  const I i;
  const auto bits = hn::BitCast(i, x);
  const auto n = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i, vm::kSqrtHalfBits)));
  const VF m = hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(n)));
  return log_parts(hn::Sub(m, hn::Set(f, 1)), hn::ConvertTo(f, n));
}

HWY_INLINE VF sigmoid(VF x) {
  const VF one = hn::Set(F(), 1);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

HWY_INLINE VF tanh(VF x) {
  const F f;
  const VF a = hn::Abs(x), t = hn::Mul(x, x), one = hn::Set(f, 1);
  const VF small = hn::MulAdd(hn::Mul(polynomial(vm::kTanh, t), t), a, a);
  const VF large = hn::Sub(one, hn::Div(hn::Set(f, 2), hn::Add(exp(hn::Add(a, a)), one)));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(f, vm::kTanhSmall)), small, large), x);
}

// y = f(x...) on whole arrays, registers of any width; elements are independent.
template <class Function, class... Inputs>
HWY_INLINE void map(float* y, int64_t n, Function f, const Inputs*... x) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(f(hn::LoadU(F(), x + i)...), F(), y + i);
  if (i == n) return;
  const auto padded = [&](const float* p) {
    alignas(64) float s[kWidth] = {};
    for (int64_t j = i; j < n; j++) s[j - i] = p[j];
    return hn::Load(F(), s);
  };
  alignas(64) float s[kWidth];
  hn::Store(f(padded(x)...), F(), s);
  for (int64_t j = i; j < n; j++) y[j] = s[j - i];
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
