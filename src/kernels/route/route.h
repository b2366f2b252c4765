// Which experts a row goes to, and how much each one counts.
//
//   ids = the `used` largest logits, best first, ties to the lowest id
//   p   = softmax(logits) at ids, over all experts or over the chosen ones alone (normalize)
//
// One row, plain C++, the same operations everywhere: a sum over all runs in order of id, a sum
// over the chosen in order of rank. A logit that is not a number counts as the least and makes all
// p so.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/vector_math/vector_math.h"

namespace mlxcel {

struct RouteArgs {
  const float* logits = nullptr;  // [experts]
  int64_t experts = 0;
  int used = 0;  // 1 <= used <= experts
  bool normalize = false;
  int32_t* ids = nullptr;  // [used]
  float* p = nullptr;      // [used]
};

inline void route_row(const RouteArgs& a) {
  const auto key = [&](int64_t i) {
    return a.logits[i] == a.logits[i] ? a.logits[i] : -std::numeric_limits<float>::infinity();
  };
  int count = 0;
  bool number = true;
  for (int64_t i = 0; i < a.experts; i++) {
    number = number && a.logits[i] == a.logits[i];
    int at = count;
    while (at > 0 && key(i) > key(a.ids[at - 1])) at--;
    if (at == a.used) continue;
    if (count < a.used) count++;
    for (int j = count - 1; j > at; j--) a.ids[j] = a.ids[j - 1];
    a.ids[at] = static_cast<int32_t>(i);
  }
  const float most = number ? a.logits[a.ids[0]] : std::numeric_limits<float>::quiet_NaN();
  float total = 0;
  for (int r = 0; r < a.used; r++) {
    a.p[r] = exp_f32(a.logits[a.ids[r]] - most);
    if (a.normalize) total += a.p[r];
  }
  for (int64_t i = 0; !a.normalize && i < a.experts; i++) total += exp_f32(a.logits[i] - most);
  for (int r = 0; r < a.used; r++) a.p[r] = a.p[r] / total;
}

}  // namespace mlxcel
