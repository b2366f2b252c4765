#include "kernels/rms_norm/rms_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm/rms_norm_cpu.cc"
#include "kernels/targets.h"

#include "kernels/lanes-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

void rms_norm(const RmsNormArgs& a) {
  const int64_t whole = a.dim / 16 * 16, rest = a.dim - whole;
  Lanes sum = Lanes::set(0);
  for (int64_t i = 0; i < whole; i += 16) {
    const Lanes x = Lanes::load(a.x + i);
    sum = fma(x, x, sum);
  }
  if (rest > 0) {
    const Lanes x = Lanes::load_first(a.x + whole, rest);
    sum = fma(x, x, sum);
  }
  const Lanes inverse =
      Lanes::set(1.0f / std::sqrt(reduce_sum(sum) / static_cast<float>(a.dim) + a.eps));
  for (int64_t i = 0; i < whole; i += 16) {
    (Lanes::load(a.x + i) * inverse * Lanes::load(a.gain + i)).store(a.y + i);
  }
  if (rest > 0) {
    const Lanes y =
        Lanes::load_first(a.x + whole, rest) * inverse * Lanes::load_first(a.gain + whole, rest);
    y.store_first(a.y + whole, rest);
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void rms_norm(const RmsNormArgs& args) { MLXCEL_DISPATCH(rms_norm)(args); }
}  // namespace mlxcel
#endif
