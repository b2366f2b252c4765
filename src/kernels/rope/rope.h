// Rotates pairs (x[i], x[i + dims/2]) of each head by an angle whose cosine and sine are given:
//   y[i]          = x[i] * cosine[i] - x[i + dims/2] * sine[i]
//   y[i + dims/2] = x[i + dims/2] * cosine[i] + x[i] * sine[i]
// and copies the elements after dims. One row at a time.
//
// Source: Su et al. 2021, half-split layout. The tree: the second product is rounded, then one
// fused multiply-add. Angles come from ops/rope.h.
#pragma once

#include <cmath>
#include <cstdint>

namespace mlxcel {

struct RopeArgs {
  const float* x;                 // [heads, head_dim]
  float* y;                       // [heads, head_dim]; may be x
  const float *cosine, *sine;     // [dims / 2]
  int64_t heads, head_dim, dims;  // dims even, at most head_dim
};

void rope_row(const RopeArgs& args);

// The tree in plain C++: every version equals it bit for bit.
inline void rope_tree(const RopeArgs& a) {
  const int64_t half = a.dims / 2;
  for (int64_t h = 0; h < a.heads; h++) {
    const float* x = a.x + h * a.head_dim;
    float* y = a.y + h * a.head_dim;
    for (int64_t i = 0; i < half; i++) {
      const float u = x[i], v = x[i + half];
      y[i] = std::fma(u, a.cosine[i], -(v * a.sine[i]));
      y[i + half] = std::fma(v, a.cosine[i], u * a.sine[i]);
    }
    for (int64_t i = a.dims; i < a.head_dim; i++) y[i] = x[i];
  }
}

// The truth in double.
inline void rope_truth(const RopeArgs& a, double* y) {
  const int64_t half = a.dims / 2;
  for (int64_t h = 0; h < a.heads; h++, y += a.head_dim) {
    const float* x = a.x + h * a.head_dim;
    for (int64_t i = 0; i < half; i++) {
      const double u = x[i], v = x[i + half], c = a.cosine[i], s = a.sine[i];
      y[i] = u * c - v * s;
      y[i + half] = v * c + u * s;
    }
    for (int64_t i = a.dims; i < a.head_dim; i++) y[i] = x[i];
  }
}

}  // namespace mlxcel
