// Elementwise functions of f32 arrays. Every element is computed alone, so any partition gives
// equal bits; y may be any of the inputs.
//
//   silu(x)      = x / (1 + e^-x)
//   gelu_tanh(x) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form of GELU,
//                  x (1 + tanh u) / 2, without its cancellation for negative x
//   softcap(x)   = cap * tanh(x / cap)
//
// The *_tree functions are the definition in plain C++, of one element.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/vector_math/vector_math.h"

namespace mlxcel {

inline float silu_tree(float x) { return x / (1.0f + exp_f32(-x)); }

// -2 sqrt(2 / pi) and the same times 0.044715
inline constexpr float kGeluLinear = -1.5957691216057308f, kGeluCubic = -0.0713548162726009f;
inline float gelu_tanh_tree(float x) {
  return x / (1.0f + exp_f32(x * std::fma(x * x, kGeluCubic, kGeluLinear)));
}

inline float softcap_tree(float x, float cap) { return cap * tanh_f32(x / cap); }

void add_f32(const float* a, const float* b, float* y, int64_t n);  // a + b
void mul_f32(const float* a, const float* b, float* y, int64_t n);  // a b
void scale_f32(const float* x, float factor, float* y, int64_t n);  // factor x
void silu_f32(const float* x, float* y, int64_t n);
void gelu_tanh_f32(const float* x, float* y, int64_t n);
void softcap_f32(const float* x, float cap, float* y, int64_t n);  // REQUIRES: cap > 0

// f(gate) * up, the product rounded once: equal to the two steps.
void silu_mul_f32(const float* gate, const float* up, float* y, int64_t n);
void gelu_tanh_mul_f32(const float* gate, const float* up, float* y, int64_t n);

}  // namespace mlxcel
