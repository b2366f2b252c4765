// attention.h's two references: the tree in plain C++, which every version equals bit for bit, and
// the truth in double, with a bound of the tree's distance from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/rms_norm/rms_norm.h"

namespace mlxcel {

struct AttentionState {  // of one query
  float m = -std::numeric_limits<float>::infinity(), l = 0;
  bool empty = true;
  std::vector<float> o;

  void fold(const AttentionState& b) {
    if (b.empty) return;
    if (empty) {
      *this = b;
      return;
    }
    const float n = b.m > m ? b.m : m, f = exp_f32(m - n), g = exp_f32(b.m - n);
    m = n;
    l = std::fma(b.l, g, l * f);
    for (size_t d = 0; d < o.size(); d++) o[d] = std::fma(b.o[d], g, o[d] * f);
  }
};

// A page as stored: elements, and the scales of positions (1 but for int8).
struct StoredPage {
  const KvPages& kv;
  const std::byte* at;

  StoredPage(const KvPages& pages, int64_t i)
      : kv(pages), at(pages.memory + pages.ids[i] * pages.stride) {}
  float element(int64_t i) const {
    uint16_t half;
    std::memcpy(&half, at + 2 * i, kv.type == KvType::kInt8 ? 0 : 2);
    if (kv.type == KvType::kInt8) return static_cast<float>(static_cast<int8_t>(at[i]));
    return kv.type == KvType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
  }
  float key(int64_t j, int64_t d) const { return element(d * kAttentionPage + j); }
  float value(int64_t j, int64_t d) const {
    return element(kAttentionPage * kv.key_dim + j * kv.value_dim + d);
  }
  float scale(int64_t i) const {
    if (kv.type != KvType::kInt8) return 1;
    float s;
    std::memcpy(&s, at + kAttentionPage * (kv.key_dim + kv.value_dim) + 4 * i, 4);
    return s;
  }
  float key_scale(int64_t j) const { return scale(j); }
  float value_scale(int64_t j) const { return scale(kAttentionPage + j); }
};

// Positions low <= j < high of one page.
inline AttentionState attend_page_tree(const AttendArgs& a, const float* q, const StoredPage& page,
                                       int low, int high) {
  AttentionState b;
  if (low >= high) return b;
  b.empty = false;
  float s[kAttentionPage] = {}, p[kAttentionPage] = {}, lane[16] = {};
  for (int j = low; j < high; j++) {
    for (int64_t d = 0; d < a.kv.key_dim; d++) {
      s[j] = std::fma(q[d] * a.scale, page.key(j, d), s[j]);
    }
    s[j] *= page.key_scale(j);
    if (a.softcap > 0) s[j] = softcap_tree(s[j], a.softcap);
    b.m = s[j] > b.m ? s[j] : b.m;
  }
  for (int j = low; j < high; j++) p[j] = exp_f32(s[j] - b.m);
  for (int j = 0; j < kAttentionPage; j++) lane[j % 16] += p[j];
  b.l = reduce16(lane);
  b.o.assign(a.kv.value_dim, 0.0f);
  for (int j = low; j < high; j++) {
    for (int64_t d = 0; d < a.kv.value_dim; d++) {
      b.o[d] = std::fma(p[j] * page.value_scale(j), page.value(j, d), b.o[d]);
    }
  }
  return b;
}

inline AttentionState attend_span_tree(const AttendArgs& a, int64_t row, int64_t head,
                                       int64_t span) {
  AttentionState state;
  const float* q = a.q + row * a.q_stride + head * a.kv.key_dim;
  constexpr int64_t kPages = kAttentionSpan / kAttentionPage;
  for (int64_t i = span * kPages; i < (span + 1) * kPages; i++) {
    const int64_t start = i * kAttentionPage;
    const int low = static_cast<int>(std::clamp<int64_t>(a.low[row] - start, 0, kAttentionPage));
    const int high = static_cast<int>(std::clamp<int64_t>(a.high[row] - start, 0, kAttentionPage));
    if (low < high) {
      state.fold(attend_page_tree(a, q, StoredPage(a.kv, i), low, high));
    }
  }
  return state;
}

inline void attend_tree(const AttendArgs& a) {
  for (int64_t row = 0; row < a.rows; row++) {
    for (int64_t head = 0; head < a.heads; head++) {
      AttentionState all;
      for (int64_t span = 0; span * kAttentionSpan < a.high[row]; span++) {
        all.fold(attend_span_tree(a, row, head, span));
      }
      float* out = a.out + row * a.out_stride + head * a.kv.value_dim;
      for (int64_t d = 0; d < a.kv.value_dim; d++) out[d] = all.empty ? 0 : all.o[d] / all.l;
    }
  }
}

// The truth of one query, and `bound`: how far an element of the tree may be from it. With e = half
// an ulp of 1: a score's rounding errors add up to at most (key_dim + 4) e scale sum |q k| (and 8 e
// of it for the cap), and half the page's 64 additions, the folds' and exp_f32's few roundings act
// on each weight: in sum a relative error r of each weight, which moves the mean by at most 2 r
// times the mean of |v|.
inline void attend_truth(const AttendArgs& a, int64_t row, int64_t head, double* out,
                         double* bound) {
  const float* q = a.q + row * a.q_stride + head * a.kv.key_dim;
  std::vector<double> s;
  double worst = 0, top = -1e300, sum = 0;
  const auto page = [&](int64_t j) { return StoredPage(a.kv, j / kAttentionPage); };
  for (int64_t j = a.low[row]; j < a.high[row]; j++) {
    double dot = 0, size = 0;
    for (int64_t d = 0; d < a.kv.key_dim; d++) {
      const int64_t at = j % kAttentionPage;
      const double k = static_cast<double>(page(j).key(at, d)) * page(j).key_scale(at);
      dot += q[d] * k, size += std::fabs(q[d] * k);
    }
    dot *= a.scale, size *= std::fabs(a.scale);
    if (a.softcap > 0) dot = a.softcap * std::tanh(dot / a.softcap);
    s.push_back(dot);
    worst = std::max(worst, size), top = std::max(top, dot);
  }
  for (double& v : s) sum += v = std::exp(v - top);
  const double e = 0x1p-24, pages = static_cast<double>(s.size()) / kAttentionPage + 2;
  const double relative =
      ((static_cast<double>(a.kv.key_dim) + 12) * worst + 2 * std::fabs(top) + 80 + 6 * pages) * e;
  for (int64_t d = 0; d < a.kv.value_dim; d++) {
    double mean = 0, size = 0;
    for (size_t i = 0; i < s.size(); i++) {
      const int64_t j = a.low[row] + static_cast<int64_t>(i);
      const int64_t at = j % kAttentionPage;
      const double v = static_cast<double>(page(j).value(at, d)) * page(j).value_scale(at);
      mean += s[i] / sum * v, size += s[i] / sum * std::fabs(v);
    }
    out[d] = mean, bound[d] = 2 * relative * size + 1e-30;
  }
}

}  // namespace mlxcel
