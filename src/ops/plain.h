// A Backend whose fused ops run as their definitions: what an override must equal bit for bit.
#pragma once

#include "ops/decorator.h"

namespace mlxcel {

// REQUIRES: `inner` outlives it.
class PlainBackend : public BackendDecorator {
 public:
  using BackendDecorator::BackendDecorator;

  // NOLINTBEGIN(bugprone-parent-virtual-call): past the decorator, to the definition.
  void linears(const Tensor& x, std::span<const Matrix* const> w,
               std::span<const Vector* const> bias, std::span<Tensor> y) override {
    Ops::linears(x, w, bias, y);
  }
  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    return Ops::gated(x, gate, up, f);
  }
  void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) override {
    Ops::linear_add_to(h, x, w, bias);
  }
  Tensor rope_append(KvLayer at, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Rope& rope) override {
    return Ops::rope_append(at, q, k, v, rope);
  }
  // NOLINTEND(bugprone-parent-virtual-call)
};

}  // namespace mlxcel
