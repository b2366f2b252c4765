#include "backends/cpu/linear.h"

#include <algorithm>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"

namespace mlxcel {

void CpuLinear::know(const Matrix& m) {
  const int group = float_activations_ ? 0 : group_of(*cpu(m).format);
  if (group > 0) widest_[group == 256] = std::max(widest_[group == 256], m.in);
}

Status CpuLinear::reserve(int64_t rows) {
  for (const int group : {32, 256}) {
    const int64_t bytes = quantized_bytes(group, rows, widest_[group == 256]);
    if (quantized(group).size() < bytes) {
      TRY(quantized(group), Buffer::make(bytes));
    }
  }
  return Ok{};
}

void CpuLinear::prepare(const float* x, int64_t rows, std::span<const Product> products,
                        ThreadTeam& team, KernelUseCounter& use) {
  const int64_t in = products[0].w->in;
  bool done[2] = {};
  for (const Product& p : products) {
    CHECK(p.w->in == in);
    const quant::Format& f = *cpu(*p.w).format;
    const int group = float_activations_ ? 0 : group_of(f);
    use.note("matmul", f.name, matmul_path(f, group > 0, rows), rows);
    if (group == 0 || done[group == 256]) continue;
    done[group == 256] = true;
    Buffer& to = quantized(group);
    CHECK(to.size() >= quantized_bytes(group, rows, in));
    QuantizeArgs a = {.x = x,
                      .ldx = in,
                      .in = in,
                      .group = group,
                      .first_row = 0,
                      .last_row = rows,
                      .out = to.data()};
    constexpr int64_t kAlone = 8;  // rows: fewer are done before others would have started
    if (rows <= kAlone) {
      quantize_rows(a);
      continue;
    }
    const int64_t tiles = (rows + 3) / 4;
    team.run([&](int thread, int threads) {
      QuantizeArgs part = a;
      part.first_row = 4 * (tiles * thread / threads);
      part.last_row = std::min(rows, 4 * (tiles * (thread + 1) / threads));
      if (part.first_row < part.last_row) quantize_rows(part);
    });
  }
}

void CpuLinear::multiply(const float* x, int64_t rows, const Product& p, int64_t first_block,
                         int64_t last_block) const {
  const CpuMatrix& m = cpu(*p.w);
  const int group = float_activations_ ? 0 : group_of(*m.format);
  MatmulArgs a = {};
  a.format = m.format, a.w = m.packed.get(), a.out = p.w->out, a.in = p.w->in;
  a.x_quantized = group > 0;
  a.x = a.x_quantized ? static_cast<const void*>(quantized(group).data()) : x;
  a.first_row = 0, a.last_row = rows, a.first_block = first_block, a.last_block = last_block;
  a.y = p.y, a.ldy = p.w->out;
  matmul(a);
  if (p.bias == nullptr) return;
  const int64_t first = first_block * quant::kBlock,
                last = std::min(p.w->out, last_block * quant::kBlock);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = first; c < last; c++) p.y[r * p.w->out + c] += p.bias[c];
  }
}

}  // namespace mlxcel
