// A Backend that passes everything on to another one: the base of what watches a backend or breaks
// it in tests.
#pragma once

#include <vector>

#include "ops/backend.h"

namespace mlxcel {

// REQUIRES: `inner` outlives it.
class BackendDecorator : public Backend {
 public:
  explicit BackendDecorator(Backend& inner) : inner_(inner) {}

  BackendInfo info() const override { return inner_.info(); }
  Result<Matrix> matrix(const WeightSource& s) override { return inner_.matrix(s); }
  Result<Vector> vector(const WeightSource& s) override { return inner_.vector(s); }
  int64_t matrix_bytes(const WeightSource& s) const override { return inner_.matrix_bytes(s); }
  Status open_kv(std::span<const KvGroup> g, std::span<const int32_t> p,
                 const StepLimits& l) override {
    return inner_.open_kv(g, p, l);
  }
  int64_t page_bytes(const KvGroup& g) const override { return inner_.page_bytes(g); }
  void copy_page(int group, PageId from, PageId to, int n) override {
    inner_.copy_page(group, from, to, n);
  }
  Status read_page(int group, PageId page, std::span<std::byte> out) override {
    return inner_.read_page(group, page, out);
  }
  Status write_page(int group, PageId page, std::span<const std::byte> bytes) override {
    return inner_.write_page(group, page, bytes);
  }
  std::vector<KernelUse> take_kernel_use() override { return inner_.take_kernel_use(); }
  int64_t free_memory() const override { return inner_.free_memory(); }
  bool has_experts() const override { return inner_.has_experts(); }

  void begin(const Step& step) override { inner_.begin(step); }
  void end() override { inner_.end(); }
  int64_t open_scope() override { return inner_.open_scope(); }
  void close_scope(int64_t mark) override { inner_.close_scope(mark); }

  Tensor embed(const Matrix& table) override { return inner_.embed(table); }
  Tensor linear(const Tensor& x, const Matrix& w, const Vector* b) override {
    return inner_.linear(x, w, b);
  }
  Tensor rms_norm(const Tensor& x, const Vector& g, float eps) override {
    return inner_.rms_norm(x, g, eps);
  }
  Tensor rope(const Tensor& x, const Rope& r) override { return inner_.rope(x, r); }
  void append(KvLayer at, const Tensor& k, const Tensor& v) override { inner_.append(at, k, v); }
  Tensor attend(KvLayer at, const Tensor& q, const AttendSpec& a) override {
    return inner_.attend(at, q, a);
  }
  Tensor add(const Tensor& a, const Tensor& b) override { return inner_.add(a, b); }
  Tensor mul(const Tensor& a, const Tensor& b) override { return inner_.mul(a, b); }
  Tensor scale(const Tensor& x, float f) override { return inner_.scale(x, f); }
  Tensor activate(const Tensor& x, Activation f) override { return inner_.activate(x, f); }
  Tensor softcap(const Tensor& x, float cap) override { return inner_.softcap(x, cap); }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    return inner_.columns(x, first, count);
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    return inner_.take_rows(x, rows);
  }
  void add_to(Tensor& h, const Tensor& x) override { inner_.add_to(h, x); }
  Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                 const ExpertSpec& spec) override {
    return inner_.experts(x, logits, stack, spec);
  }
  void sample(const Tensor& logits, std::span<const SampleRow> rows,
              std::span<Sample> out) override {
    inner_.sample(logits, rows, out);
  }
  void read(const Tensor& x, std::span<float> out) override { inner_.read(x, out); }

  void linears(const Tensor& x, std::span<const Matrix* const> w,
               std::span<const Vector* const> bias, std::span<Tensor> y) override {
    inner_.linears(x, w, bias, y);
  }
  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    return inner_.gated(x, gate, up, f);
  }
  void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) override {
    inner_.linear_add_to(h, x, w, bias);
  }
  Tensor rope_append(KvLayer at, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Rope& rope) override {
    return inner_.rope_append(at, q, k, v, rope);
  }

 protected:
  Backend& inner_;
};

}  // namespace mlxcel
