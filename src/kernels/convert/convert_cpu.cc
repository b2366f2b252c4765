#include "kernels/convert/convert.h"

#include "base/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/convert_cpu.cc"
#include "kernels/targets.h"

#include "kernels/convert/convert-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

void f16_to_f32_all(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(load_f16(x + i), F(), y + i);
  for (; i < n; i++) y[i] = f16_to_f32(x[i]);
}
void bf16_to_f32_all(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) hn::StoreU(load_bf16(x + i), F(), y + i);
  for (; i < n; i++) y[i] = bf16_to_f32(x[i]);
}
void f32_to_f16_all(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store_f16(hn::LoadU(F(), x + i), y + i);
  for (; i < n; i++) y[i] = f32_to_f16(x[i]);
}
void f32_to_bf16_all(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store_bf16(hn::LoadU(F(), x + i), y + i);
  for (; i < n; i++) y[i] = f32_to_bf16(x[i]);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void convert_f16_to_f32(const uint16_t* x, float* y, int64_t n) {
  MLXCEL_DISPATCH(f16_to_f32_all)(x, y, n);
}
void convert_bf16_to_f32(const uint16_t* x, float* y, int64_t n) {
  MLXCEL_DISPATCH(bf16_to_f32_all)(x, y, n);
}
void convert_f32_to_f16(const float* x, uint16_t* y, int64_t n) {
  MLXCEL_DISPATCH(f32_to_f16_all)(x, y, n);
}
void convert_f32_to_bf16(const float* x, uint16_t* y, int64_t n) {
  MLXCEL_DISPATCH(f32_to_bf16_all)(x, y, n);
}
}  // namespace mlxcel
#endif
