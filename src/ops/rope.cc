#include "ops/rope.h"

#include <cstddef>

#include "base/check.h"
#include "base/math.h"

namespace mlxcel {

Rope plain_rope(int dims, double theta) {
  CHECK(dims > 0 && dims % 2 == 0 && theta > 0);
  Rope rope;
  for (int i = 0; i < dims / 2; i++) rope.inv_freq.push_back(exact_pow(theta, -2.0 * i / dims));
  return rope;
}

void rope_angles(const Rope& rope, int64_t position, float* cosine, float* sine) {
  for (size_t i = 0; i < rope.inv_freq.size(); i++) {
    double s, c;
    exact_sincos(static_cast<double>(position) * rope.inv_freq[i], &s, &c);
    cosine[i] = static_cast<float>(c * rope.magnitude);
    sine[i] = static_cast<float>(s * rope.magnitude);
  }
}

}  // namespace mlxcel
