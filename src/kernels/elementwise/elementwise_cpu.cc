#include "kernels/elementwise/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_cpu.cc"
#include "kernels/targets.h"

#include "kernels/elementwise/elementwise-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

void add_all(const float* a, const float* b, float* y, int64_t n) {
  map(
      y, n, [](VF u, VF v) HWY_ATTR { return hn::Add(u, v); }, a, b);
}
void mul_all(const float* a, const float* b, float* y, int64_t n) {
  map(
      y, n, [](VF u, VF v) HWY_ATTR { return hn::Mul(u, v); }, a, b);
}
void scale_all(const float* x, float factor, float* y, int64_t n) {
  const VF s = hn::Set(F(), factor);
  map(
      y, n, [s](VF v) HWY_ATTR { return hn::Mul(s, v); }, x);
}
void silu_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return silu(v); }, x);
}
void gelu_tanh_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return gelu_tanh(v); }, x);
}
void softcap_all(const float* x, float cap, float* y, int64_t n) {
  const VF c = hn::Set(F(), cap);
  map(
      y, n, [c](VF v) HWY_ATTR { return softcap(v, c); }, x);
}
void silu_mul_all(const float* gate, const float* up, float* y, int64_t n) {
  map(
      y, n, [](VF g, VF u) HWY_ATTR { return hn::Mul(silu(g), u); }, gate, up);
}
void gelu_tanh_mul_all(const float* gate, const float* up, float* y, int64_t n) {
  map(
      y, n, [](VF g, VF u) HWY_ATTR { return hn::Mul(gelu_tanh(g), u); }, gate, up);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void add_f32(const float* a, const float* b, float* y, int64_t n) {
  MLXCEL_DISPATCH(add_all)(a, b, y, n);
}
void mul_f32(const float* a, const float* b, float* y, int64_t n) {
  MLXCEL_DISPATCH(mul_all)(a, b, y, n);
}
void scale_f32(const float* x, float factor, float* y, int64_t n) {
  MLXCEL_DISPATCH(scale_all)(x, factor, y, n);
}
void silu_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(silu_all)(x, y, n); }
void gelu_tanh_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(gelu_tanh_all)(x, y, n); }
void softcap_f32(const float* x, float cap, float* y, int64_t n) {
  MLXCEL_DISPATCH(softcap_all)(x, cap, y, n);
}
void silu_mul_f32(const float* gate, const float* up, float* y, int64_t n) {
  MLXCEL_DISPATCH(silu_mul_all)(gate, up, y, n);
}
void gelu_tanh_mul_f32(const float* gate, const float* up, float* y, int64_t n) {
  MLXCEL_DISPATCH(gelu_tanh_mul_all)(gate, up, y, n);
}
}  // namespace mlxcel
#endif
