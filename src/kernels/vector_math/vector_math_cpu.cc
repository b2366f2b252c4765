#include "kernels/vector_math/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector_math/vector_math_cpu.cc"
#include "kernels/targets.h"

#include "kernels/vector_math/vector_math-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

void exp_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return exp(v); }, x);
}
void log_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return log(v); }, x);
}
void sigmoid_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return sigmoid(v); }, x);
}
void tanh_all(const float* x, float* y, int64_t n) {
  map(
      y, n, [](VF v) HWY_ATTR { return tanh(v); }, x);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void exp_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(exp_all)(x, y, n); }
void log_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(log_all)(x, y, n); }
void sigmoid_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(sigmoid_all)(x, y, n); }
void tanh_f32(const float* x, float* y, int64_t n) { MLXCEL_DISPATCH(tanh_all)(x, y, n); }
}  // namespace mlxcel
#endif
