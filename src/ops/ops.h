// The seam. Models speak only this; backends implement only this.
//
// A forward pass runs between begin(step) and end(). Tensors live until the Scope that was open
// when they were made is closed, or until end(). Shapes were checked when the model was loaded:
// here a wrong one is a bug.
//
// Primitive ops are pure virtual. A fused op has a body made of primitive ops: that body is its
// definition, what a kill switch falls back to, and what an override must equal bit for bit on the
// same backend.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/kv.h"
#include "ops/rope.h"
#include "ops/sample.h"
#include "ops/step.h"
#include "ops/tensor.h"
#include "ops/weight.h"

namespace mlxcel {

enum class Activation { kSilu, kGeluTanh };

// Gated MLPs of which each row uses a few (a mixture of experts). [experts] each
struct ExpertStack {
  std::vector<Matrix> gate, up, down;  // [ffn, dim], [ffn, dim], [dim, ffn]
};
struct ExpertSpec {
  int used = 0;            // experts of a row
  bool normalize = false;  // their shares add up to 1
  Activation activation = Activation::kSilu;
};

class Ops {
 public:
  virtual ~Ops() = default;

  // ---- a step
  virtual void begin(const Step& step) = 0;
  virtual void end() = 0;
  virtual int64_t open_scope() = 0;            // everything made from here on ...
  virtual void close_scope(int64_t mark) = 0;  // ... is gone after this. For Scope below.

  // ---- primitive ops; x is [..., dim] and rows are all dimensions but the last
  virtual Tensor embed(const Matrix& table) = 0;  // the step's inputs -> [rows, dim]
  virtual Tensor linear(const Tensor& x, const Matrix& w,
                        const Vector* bias = nullptr) = 0;  // -> [..., out]
  virtual Tensor rms_norm(const Tensor& x, const Vector& gain, float eps) = 0;
  // x [rows, heads, head_dim], rotated by the angle of the row's position; dims after rope.dims()
  // pass unchanged.
  virtual Tensor rope(const Tensor& x, const Rope& rope) = 0;
  virtual void append(KvLayer at, const Tensor& k,
                      const Tensor& v) = 0;  // [rows, kv_heads, head_dim]
  // q [rows, heads, head_dim] -> [rows, heads * head_dim]; a row sees what its segment, window and
  // span allow.
  virtual Tensor attend(KvLayer at, const Tensor& q, const AttendSpec& spec) = 0;
  virtual Tensor add(const Tensor& a, const Tensor& b) = 0;
  virtual Tensor mul(const Tensor& a, const Tensor& b) = 0;
  virtual Tensor scale(const Tensor& x, float factor) = 0;
  virtual Tensor activate(const Tensor& x, Activation f) = 0;
  virtual Tensor softcap(const Tensor& x, float cap) = 0;                     // cap * tanh(x / cap)
  virtual Tensor columns(const Tensor& x, int64_t first, int64_t count) = 0;  // a copy
  virtual Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) = 0;  // a copy
  virtual void add_to(Tensor& h, const Tensor& x) = 0;                           // h += x, in place
  // Sum of p * down(f(gate x) * up x) over a row's experts, best first: those with the largest
  // logits [rows, experts], ties to the lowest id; p = softmax (kernels/route). -> [rows, dim]
  virtual Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                         const ExpertSpec& spec) = 0;

  // logits [rows.size(), vocab] -> one sample a row. On a device the launch returns before the
  // result is there.
  virtual void sample(const Tensor& logits, std::span<const SampleRow> rows,
                      std::span<Sample> out) = 0;
  virtual void read(const Tensor& x,
                    std::span<float> out) = 0;  // to the host; out has x.shape.size() floats

  // ---- fused ops

  // Several matrices on the same x, y[i] = W[i] x (+ bias[i]).
  virtual void linears(const Tensor& x, std::span<const Matrix* const> w,
                       std::span<const Vector* const> bias, std::span<Tensor> y);
  // f(gate x) * (up x)
  virtual Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f);
  // h += W x (+ bias)
  virtual void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w,
                             const Vector* bias = nullptr);
  // append(rope(k), v), then rope(q)
  virtual Tensor rope_append(KvLayer at, const Tensor& q, const Tensor& k, const Tensor& v,
                             const Rope& rope);
};

// W[0] x, W[1] x, ...: auto [q, k, v] = linears(op, x, wq, wk, wv);
template <class... M>
std::array<Tensor, sizeof...(M)> linears(Ops& op, const Tensor& x, const M&... w) {
  const std::array<const Matrix*, sizeof...(M)> all = {&w...};
  std::array<Tensor, sizeof...(M)> y;
  op.linears(x, all, {}, y);
  return y;
}

// Frees what was made inside it: one per layer.
class Scope {
 public:
  explicit Scope(Ops& op) : op_(op), mark_(op.open_scope()) {}
  ~Scope() { op_.close_scope(mark_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Ops& op_;
  int64_t mark_;
};

}  // namespace mlxcel
