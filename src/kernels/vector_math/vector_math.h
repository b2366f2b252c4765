// exp, log, tanh and the logistic function of f32, from add, multiply, divide, fused multiply-add
// and bit operations alone: equal bits on every instruction set.
//
// Below is the tree in plain C++; vector_math-inl.h holds the same operations on sixteen lanes.
// Coefficients are minimax fits, rounded to f32 one after the other. Largest errors against double,
// in units in the last place (vector_math_test.cc): exp 1.1, log 0.9, tanh 1.6, sigmoid 2.5.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mlxcel {

namespace vector_math {
inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2High = 0.693147182464599609375f;       // ln 2 rounded to f32
inline constexpr float kLn2Low = -1.904654299957767878e-9f;       // ln 2 - kLn2High
inline constexpr float kRound = 12582912.0f;                      // 1.5 * 2^23: adding it rounds
inline constexpr float kExpLow = -87.0f, kExpHigh = 88.7228317f;  // results: 2^-125.5, 2^127.99999
inline constexpr int32_t kSqrtHalfBits = 0x3f3504f3;

// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2
inline constexpr float kExp[5] = {0.49999994f, 0.16666521f, 0.04166827f, 0.008368677f,
                                  0.001382041f};
// (log(1 + z) - z + z^2 / 2) / z^3 for 1 + z in [sqrt(1/2), sqrt(2)]
inline constexpr float kLog[8] = {0.3333333134651184f,  -0.2500082552433014f, 0.20001250505447388f,
                                  -0.1662319004535675f, 0.14201176166534424f, -0.13161464035511017f,
                                  0.1276620775461197f,  -0.07636449486017227f};
// (tanh x - x) / x^3 as a polynomial of x^2, for |x| < kTanhSmall
inline constexpr float kTanhSmall = 0.6f;
inline constexpr float kTanh[5] = {-0.33333298563957214f, 0.13331939280033112f,
                                   -0.05378507450222969f, 0.02079996094107628f,
                                   -0.005899543408304453f};

template <int n>
inline float polynomial(const float (&c)[n], float x) {
  float y = c[n - 1];
  for (int i = n - 2; i >= 0; i--) y = std::fma(y, x, c[i]);
  return y;
}
}  // namespace vector_math

// e^x. Below -87 it is 0, above 88.7228 infinity; NaN stays NaN.
inline float exp_f32(float x) {
  using namespace vector_math;
  if (x < kExpLow) return 0;
  if (x > kExpHigh) return std::numeric_limits<float>::infinity();
  if (x != x) return x;
  const float shifted = std::fma(x, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  const float p = std::fma(polynomial(kExp, r), r * r, r) + 1.0f;
  // The low bits of `shifted` are n: adding them to the exponent multiplies by 2^n exactly.
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (std::bit_cast<uint32_t>(shifted) << 23));
}

// log(1 + z) + n log 2, for 1 + z in [sqrt(1/2), sqrt(2)] and a small integer n.
inline float log_parts_f32(float z, float n) {
  using namespace vector_math;
  const float zz = z * z;
  float y = std::fma(n, kLn2Low, polynomial(kLog, z) * z * zz);
  y = std::fma(zz, -0.5f, y);
  return std::fma(n, kLn2High, z + y);
}

// log x. REQUIRES: x is positive, normal and finite.
inline float log_f32(float x) {
  using namespace vector_math;
  const int32_t bits = std::bit_cast<int32_t>(x);
  const int32_t n = (bits - kSqrtHalfBits) >> 23;
  const float m =
      std::bit_cast<float>(static_cast<uint32_t>(bits) - (static_cast<uint32_t>(n) << 23));
  return log_parts_f32(m - 1.0f, static_cast<float>(n));
}

// 1 / (1 + e^-x)
inline float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

inline float tanh_f32(float x) {
  using namespace vector_math;
  const float a = std::fabs(x), t = x * x;
  const float y = a < kTanhSmall ? std::fma(polynomial(kTanh, t) * t, a, a)
                                 : 1.0f - 2.0f / (exp_f32(a + a) + 1.0f);
  return std::copysign(y, x);
}

// The same on arrays, by vectors; y may be x.
void exp_f32(const float* x, float* y, int64_t n);
void log_f32(const float* x, float* y, int64_t n);
void sigmoid_f32(const float* x, float* y, int64_t n);
void tanh_f32(const float* x, float* y, int64_t n);

}  // namespace mlxcel
