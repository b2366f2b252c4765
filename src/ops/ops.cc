#include "ops/ops.h"

namespace mlxcel {

void Ops::linears(const Tensor& x, std::span<const Matrix* const> w,
                  std::span<const Vector* const> bias, std::span<Tensor> y) {
  for (size_t i = 0; i < w.size(); i++) y[i] = linear(x, *w[i], bias.empty() ? nullptr : bias[i]);
}

Tensor Ops::gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) {
  const Tensor g = linear(x, gate), u = linear(x, up);
  return mul(activate(g, f), u);
}

void Ops::linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) {
  add_to(h, linear(x, w, bias));
}

Tensor Ops::rope_append(KvLayer at, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Rope& r) {
  append(at, rope(k, r), v);
  return rope(q, r);
}

}  // namespace mlxcel
