// The definition of a matmul in plain C++, one output at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/layout.h"

namespace mlxcel {
namespace {

using quant::Format;
using quant::Layout;

// One activation group against one output's codes: y goes on by one or two steps of the chain.
// `unit` counts units of 32 k from the start of the record.
template <int kGroup>
float step(const Format& f, const Layout& l, const uint8_t* record, int r, int unit,
           const Tile<kGroup>& tile, int m, float y) {
  int32_t dot = 0, min = 0;
  for (int k = 0; k < kGroup; k++) {
    const int code = quant::code_at(f.bits, record + (unit + k / 32) * l.unit, r, k % 32);
    const quant::SubScale s = f.sub == 0
                                  ? quant::SubScale{1, 0}
                                  : quant::sub_scale_at(f.subs, record + l.subs, r, k / f.sub);
    dot += s.scale * (quant::number_of(f.code, code) - f.offset) * tile.x[m][k];
    min -= s.min * tile.x[m][k];
  }
  const float scale = quant::scale_at(f.scale, record + l.scales, r);
  const float bias = f.bias ? quant::scale_at(f.scale, record + l.biases, r) : 0;
  if constexpr (kGroup == 32) {
    if (f.bias) y = std::fma(bias, tile.sum[m], y);
  } else {
    if (f.bias) y = std::fma(bias * tile.scale[m], static_cast<float>(min), y);
  }
  return std::fma(scale * tile.scale[m], static_cast<float>(dot), y);
}

template <int kGroup>
float quantized_dot(const MatmulArgs& a, int64_t row, int64_t n) {
  const Format& f = *a.format;
  const Layout l = quant::layout_of(f);
  const auto* record = static_cast<const uint8_t*>(a.w) + n / 16 * (a.in / f.group) * l.bytes;
  const auto* tile = static_cast<const Tile<kGroup>*>(a.x) + row / 4 * (a.in / kGroup);
  float y = 0;
  for (int64_t k = 0; k < a.in; k += kGroup, tile++) {
    y = step(f, l, record + k / f.group * l.bytes, static_cast<int>(n % 16),
             static_cast<int>(k % f.group / 32), *tile, static_cast<int>(row % 4), y);
  }
  return y;
}

}  // namespace

void matmul_tree(const MatmulArgs& a) {
  const int64_t first = 16 * a.first_block, last = std::min(16 * a.last_block, a.out);
  std::vector<float> w(a.x_quantized ? 0 : a.in);
  for (int64_t n = first; n < last; n++) {
    if (!a.x_quantized) quant::unpack_row(*a.format, a.w, a.in, n, w.data());
    for (int64_t m = a.first_row; m < a.last_row; m++) {
      float y = 0;
      if (!a.x_quantized) {
        const float* x = static_cast<const float*>(a.x) + m * a.in;
        for (int64_t k = 0; k < a.in; k++) y = std::fma(w[k], x[k], y);
      } else {
        y = group_of(*a.format) == 32 ? quantized_dot<32>(a, m, n) : quantized_dot<256>(a, m, n);
      }
      a.y[m * a.ldy + n] = y;
    }
  }
}

}  // namespace mlxcel
