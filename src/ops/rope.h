// Rotary position embedding: frequencies and the angles of a row, in double, by our own sine and
// cosine.
//
//   inv_freq[i] = theta^(-2 i / dims)
//   (x[i], x[i + dims/2])  ->  rotated by position * inv_freq[i], times magnitude
//
// Source: Su et al. 2021, in the half-split layout of Hugging Face's Llama. Every backend takes its
// angles from here.
#pragma once

#include <cstdint>
#include <vector>

namespace mlxcel {

struct Rope {
  std::vector<double> inv_freq;  // [dims / 2]
  float magnitude = 1;           // yarn and longrope scale both cosine and sine

  int dims() const { return 2 * static_cast<int>(inv_freq.size()); }
};

// REQUIRES: dims is even and positive, theta > 0.
Rope plain_rope(int dims, double theta);

// cosine[i], sine[i] of position * inv_freq[i], times magnitude; each rounded once to float. [dims
// / 2]
void rope_angles(const Rope& rope, int64_t position, float* cosine, float* sine);

}  // namespace mlxcel
