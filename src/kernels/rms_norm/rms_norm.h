// y[i] = x[i] * gain[i] / sqrt(mean(x^2) + eps), one row at a time.
//
// Source: Zhang and Sennrich 2019. The tree, on every instruction set:
//   lane l of 16 sums x[l]^2, x[16 + l]^2, ... with fused multiply-adds, in order (elements after
//   the last count as 0); the 16 sums are added as a fixed tree (reduce16); inverse = 1 / sqrt(sum
//   / dim + eps); y = (x * inverse) * gain.
#pragma once

#include <cmath>
#include <cstdint>

namespace mlxcel {

struct RmsNormArgs {
  const float* x;     // [dim]
  const float* gain;  // [dim]
  float* y;           // [dim]; may be x
  int64_t dim;
  float eps;
};

void rms_norm(const RmsNormArgs& args);  // one row; the backend divides rows among threads

// (((0+8)+(4+12)) + ((2+10)+(6+14))) + (the same of the odd ones): halves are added, as registers
// of any width can.
inline float reduce16(const float* lane) {
  float s[16];
  for (int i = 0; i < 16; i++) s[i] = lane[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) s[i] = s[i] + s[i + half];
  }
  return s[0];
}

// The tree in plain C++: every version equals it bit for bit.
inline void rms_norm_tree(const RmsNormArgs& a) {
  float lane[16] = {};
  for (int64_t i = 0; i < a.dim; i++) lane[i % 16] = std::fma(a.x[i], a.x[i], lane[i % 16]);
  const float inverse = 1.0f / std::sqrt(reduce16(lane) / static_cast<float>(a.dim) + a.eps);
  for (int64_t i = 0; i < a.dim; i++) a.y[i] = a.x[i] * inverse * a.gain[i];
}

// The truth in double.
inline void rms_norm_truth(const RmsNormArgs& a, double* y) {
  double sum = 0;
  for (int64_t i = 0; i < a.dim; i++) sum += static_cast<double>(a.x[i]) * a.x[i];
  const double inverse = 1 / std::sqrt(sum / static_cast<double>(a.dim) + a.eps);
  for (int64_t i = 0; i < a.dim; i++) y[i] = a.x[i] * inverse * a.gain[i];
}

}  // namespace mlxcel
