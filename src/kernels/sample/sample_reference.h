// sample.h's tree in plain C++: every version equals it bit for bit. It tests every token's
// membership by the definition and searches the whole vocabulary, so it is slow.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/math.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/sample/sample.h"
#include "kernels/vector_math/vector_math.h"

namespace mlxcel {

// -log(-log(1 - u)), u = (r + 1/2) / 2^32. From u or its complement, whichever is exact where it is
// small.
inline float gumbel_tree(uint32_t r) {
  const bool small = (r >> 16) < static_cast<uint32_t>(kGumbelSmall);
  const uint32_t x = small ? r : ~r;
  const float v =
      std::fma(static_cast<float>(x >> 16), 65536.0f, static_cast<float>(x & 0xffff) + 0.5f) *
      0x1p-32f;
  return -log_f32(small ? -log_parts_f32(-v, 0.0f) : -log_f32(v));
}

// Sum of exp_f32(l[t] - max) over the tokens that `in` accepts.
template <class In>
double mass_tree(const std::vector<float>& l, float max, In in) {
  double sum = 0;
  const int64_t n = static_cast<int64_t>(l.size());
  for (int64_t first = 0; first < n; first += 1024) {
    float lane[16] = {};
    for (int64_t t = first; t < std::min<int64_t>(first + 1024, n); t++) {
      if (in(t)) lane[t % 16] += exp_f32(l[t] - max);
    }
    sum += reduce16(lane);
  }
  return sum;
}

inline std::vector<float> edited_tree(const SampleArgs& a) {
  std::vector<float> l(a.logits, a.logits + a.vocab);
  for (int64_t i = 0; i < a.edit_count; i++) {
    const LogitEdit& e = a.edits[i];
    float& x = l[e.token];
    x = (x > 0 ? x / e.repeat : x * e.repeat) + e.add;
  }
  for (int64_t t = 0; a.allowed && t < a.vocab; t++) {
    if (!(a.allowed[t / 32] >> t % 32 & 1)) l[t] = -std::numeric_limits<float>::infinity();
  }
  return l;
}

inline SampleResult sample_tree(const SampleArgs& a) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::fill(a.top, a.top + a.top_count, TokenLogprob{-1, 0});
  const std::vector<float> raw(a.logits, a.logits + a.vocab), l = edited_tree(a);
  float raw_max = -kInfinity, max = -kInfinity;
  for (int64_t t = 0; t < a.vocab; t++) {
    if (!(raw[t] < kInfinity) || !(l[t] < kInfinity)) return {-1, 0};
    raw_max = std::max(raw_max, raw[t]), max = std::max(max, l[t]);
  }
  if (max == -kInfinity) return {-1, 0};
  const auto before = [&l](int64_t t, int64_t u) { return l[t] > l[u] || (l[t] == l[u] && t < u); };
  const double total = mass_tree(l, max, [](int64_t) { return true; });
  const auto member = [&](int64_t u) {
    if (l[u] == -kInfinity) return false;
    int64_t rank = 0;
    for (int64_t t = 0; t < a.vocab; t++) rank += before(t, u);
    if (rank == 0) return true;
    if (a.top_k > 0 && rank >= a.top_k) return false;
    if (a.min_p > 0 && !(l[u] - max >= static_cast<float>(exact_log(a.min_p)))) return false;
    return a.top_p >= 1 || mass_tree(l, max, [&](int64_t t) { return before(t, u); }) <
                               static_cast<double>(a.top_p) * total;
  };
  int32_t token = -1;
  float best = -kInfinity;
  for (int64_t t = 0; t < a.vocab; t++) {
    float x = l[t];
    if (a.temperature > 0) {
      const uint32_t key[2] = {static_cast<uint32_t>(a.seed), static_cast<uint32_t>(a.seed >> 32)};
      const uint32_t counter[4] = {static_cast<uint32_t>(t / 4), a.choice,
                                   static_cast<uint32_t>(a.position),
                                   static_cast<uint32_t>(a.position >> 32)};
      uint32_t words[4];
      philox4x32(counter, key, words);
      x = (l[t] - max) / a.temperature + gumbel_tree(words[t % 4]);
    }
    if (x > best && member(t)) best = x, token = static_cast<int32_t>(t);
  }
  const double log_mass = exact_log(mass_tree(raw, raw_max, [](int64_t) { return true; }));
  const auto logprob = [&](int64_t t) {
    return static_cast<float>(static_cast<double>(raw[t] - raw_max) - log_mass);
  };
  for (int i = 0; i < a.top_count; i++) {
    const int64_t last = i == 0 ? -1 : a.top[i - 1].token;
    if (i > 0 && last < 0) break;
    for (int64_t t = 0; t < a.vocab; t++) {
      if (raw[t] == -kInfinity) continue;
      if (i > 0 && !(raw[t] < raw[last] || (raw[t] == raw[last] && t > last))) continue;
      if (a.top[i].token < 0 || raw[t] > raw[a.top[i].token]) {
        a.top[i] = {static_cast<int32_t>(t), logprob(t)};
      }
    }
  }
  return {token, logprob(token)};
}

}  // namespace mlxcel
