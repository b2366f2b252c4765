#include "kernels/rope/rope.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope/rope_cpu.cc"
#include "kernels/targets.h"

#include "kernels/lanes-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

void rope_row(const RopeArgs& a) {
  const F f;
  const int64_t half = a.dims / 2;
  for (int64_t h = 0; h < a.heads; h++) {
    const float* x = a.x + h * a.head_dim;
    float* y = a.y + h * a.head_dim;
    int64_t i = 0;
    for (; i + kWidth <= half; i += kWidth) {
      const VF u = hn::LoadU(f, x + i), v = hn::LoadU(f, x + half + i);
      const VF c = hn::LoadU(f, a.cosine + i), s = hn::LoadU(f, a.sine + i);
      hn::StoreU(hn::MulSub(u, c, hn::Mul(v, s)), f, y + i);
      hn::StoreU(hn::MulAdd(v, c, hn::Mul(u, s)), f, y + half + i);
    }
    for (; i < half; i++) {
      const float u = x[i], v = x[i + half];
      y[i] = std::fma(u, a.cosine[i], -(v * a.sine[i]));
      y[i + half] = std::fma(v, a.cosine[i], u * a.sine[i]);
    }
    if (y != x) {
      for (i = a.dims; i < a.head_dim; i++) y[i] = x[i];
    }
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void rope_row(const RopeArgs& args) { MLXCEL_DISPATCH(rope_row)(args); }
}  // namespace mlxcel
#endif
