// Device code that all CUDA kernels share: launches, row reductions, and the functions of
// kernels/vector_math in the same operations, so that they have the same bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/launch.h"

#define MLXCEL_DEVICE __device__ __forceinline__

namespace mlxcel::gpu {

// ---- launches

// A launch may start before the kernel before it has ended: every kernel calls wait_for_inputs()
// before it touches what others write, so each kernel sees all that came before.
template <class Args>
void launch(void (*kernel)(Args), dim3 grid, unsigned threads, int shared, CudaStream stream,
            const Args& args) {
  cudaLaunchAttribute overlap;
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = shared;
  config.stream = stream, config.attrs = &overlap, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, args);  // the error stays for the backend's check
}

inline int sm_count() {
  static const int count = [] {
    int device = 0, n = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device);
    return n > 0 ? n : 1;
  }();
  return count;
}

MLXCEL_DEVICE void wait_for_inputs() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
MLXCEL_DEVICE void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// 16 bytes to shared memory, in the thread's next cp.async group.
MLXCEL_DEVICE void copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// ---- numbers

MLXCEL_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
MLXCEL_DEVICE uint32_t bits(float f) { return __float_as_uint(f); }
MLXCEL_DEVICE float from_bits(uint32_t b) { return __uint_as_float(b); }
MLXCEL_DEVICE float bf16_low(uint32_t pair) { return from_bits(pair << 16); }
MLXCEL_DEVICE float bf16_high(uint32_t pair) { return from_bits(pair & 0xffff0000u); }
MLXCEL_DEVICE uint32_t bf16_pair(float low, float high) {  // nearest even
  const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&v);
}

MLXCEL_DEVICE float exp_f32(float x) {
  const float shifted = fma(x, 1.44269504088896340736f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  const float r = fma(n, 1.904654299957767878e-9f, fma(n, -0.693147182464599609375f, x));
  float p = 0.001382041f;
  p = fma(p, r, 0.008368677f);
  p = fma(p, r, 0.04166827f);
  p = fma(p, r, 0.16666521f);
  p = fma(p, r, 0.49999994f);
  p = fma(p, r * r, r) + 1.0f;
  const float y = from_bits(bits(p) + (bits(shifted) << 23));
  return x < -87.0f ? 0.0f : x > 88.7228317f ? from_bits(0x7f800000u) : x != x ? x : y;
}

MLXCEL_DEVICE float log_parts_f32(float z, float n) {
  float p = -0.07636449486017227f;
  p = fma(p, z, 0.1276620775461197f);
  p = fma(p, z, -0.13161464035511017f);
  p = fma(p, z, 0.14201176166534424f);
  p = fma(p, z, -0.1662319004535675f);
  p = fma(p, z, 0.20001250505447388f);
  p = fma(p, z, -0.2500082552433014f);
  p = fma(p, z, 0.3333333134651184f);
  const float zz = z * z;
  float y = fma(n, -1.904654299957767878e-9f, p * z * zz);
  y = fma(zz, -0.5f, y);
  return fma(n, 0.693147182464599609375f, z + y);
}

MLXCEL_DEVICE float log_f32(float x) {  // REQUIRES: x is positive, normal and finite
  const int32_t b = static_cast<int32_t>(bits(x)), n = (b - 0x3f3504f3) >> 23;
  const float m = from_bits(static_cast<uint32_t>(b) - (static_cast<uint32_t>(n) << 23));
  return log_parts_f32(m - 1.0f, static_cast<float>(n));
}

MLXCEL_DEVICE float tanh_f32(float x) {
  const float a = fabsf(x), t = x * x;
  float p = -0.005899543408304453f;
  p = fma(p, t, 0.02079996094107628f);
  p = fma(p, t, -0.05378507450222969f);
  p = fma(p, t, 0.13331939280033112f);
  p = fma(p, t, -0.33333298563957214f);
  const float small = fma(p * t, a, a), large = 1.0f - __fdiv_rn(2.0f, exp_f32(a + a) + 1.0f);
  return copysignf(a < 0.6f ? small : large, x);
}

MLXCEL_DEVICE float silu(float x) { return __fdiv_rn(x, 1.0f + exp_f32(-x)); }
MLXCEL_DEVICE float gelu_tanh(float x) {
  return __fdiv_rn(x, 1.0f + exp_f32(x * fma(x * x, -0.0713548162726009f, -1.5957691216057308f)));
}
MLXCEL_DEVICE float softcap(float x, float cap) { return cap * tanh_f32(__fdiv_rn(x, cap)); }

// The log of base/math.h, in the same operations.
MLXCEL_DEVICE double exact_log(double x) {
  uint64_t b = __double_as_longlong(x);
  int64_t e = static_cast<int64_t>(b >> 52) - 1023;
  double m = __longlong_as_double((b & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 0x1.6a09e667f3bcdp0) m *= 0.5, e++;
  const double f = m - 1, s = f / (2 + f), z = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
  const double log_m = f - s * (f - 2 * z * sum);
  return e * 0x1.62e42feep-1 + (log_m + e * 0x1.a39ef35793c76p-33);
}

// Adds v of all 32 lanes as a fixed tree; every lane gets the sum.
MLXCEL_DEVICE float warp_sum(float v) {
#pragma unroll
  for (int i = 16; i > 0; i /= 2) v = v + __shfl_xor_sync(~0u, v, i);
  return v;
}

}  // namespace mlxcel::gpu
