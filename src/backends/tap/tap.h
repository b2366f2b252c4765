// A decorator that hashes every output of every op, to name the first op that differs between two
// runs.
//
//   Tap tap(backend);  run;  const auto a = tap.take();  run again;  first_difference(a,
//   tap.take());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/decorator.h"

namespace mlxcel {

struct TapRecord {
  std::string op;              // "linear"
  Shape shape;                 // of its output
  std::vector<uint64_t> rows;  // a hash of each output row
};

// FNV-1a over the bits of n floats, a word at a time.
uint64_t hash_floats(const float* x, int64_t n);

// "op 17 (linear [3, 576]), row 2", or nothing if the runs are equal.
std::optional<std::string> first_difference(const std::vector<TapRecord>& a,
                                            const std::vector<TapRecord>& b);

// REQUIRES: `inner` outlives the tap. Fused ops of the inner backend are recorded as one op each.
class Tap final : public BackendDecorator {
 public:
  explicit Tap(Backend& inner) : BackendDecorator(inner) {}

  std::vector<TapRecord> take() { return std::move(records_); }

  Tensor embed(const Matrix& table) override { return note("embed", inner_.embed(table)); }
  Tensor linear(const Tensor& x, const Matrix& w, const Vector* b) override {
    return note("linear", inner_.linear(x, w, b));
  }
  Tensor rms_norm(const Tensor& x, const Vector& g, float eps) override {
    return note("rms_norm", inner_.rms_norm(x, g, eps));
  }
  Tensor rope(const Tensor& x, const Rope& r) override { return note("rope", inner_.rope(x, r)); }
  Tensor attend(KvLayer at, const Tensor& q, const AttendSpec& a) override {
    return note("attend", inner_.attend(at, q, a));
  }
  Tensor add(const Tensor& a, const Tensor& b) override { return note("add", inner_.add(a, b)); }
  Tensor mul(const Tensor& a, const Tensor& b) override { return note("mul", inner_.mul(a, b)); }
  Tensor scale(const Tensor& x, float f) override { return note("scale", inner_.scale(x, f)); }
  Tensor activate(const Tensor& x, Activation f) override {
    return note("activate", inner_.activate(x, f));
  }
  Tensor softcap(const Tensor& x, float cap) override {
    return note("softcap", inner_.softcap(x, cap));
  }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    return note("columns", inner_.columns(x, first, count));
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    return note("take_rows", inner_.take_rows(x, rows));
  }
  Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                 const ExpertSpec& spec) override {
    return note("experts", inner_.experts(x, logits, stack, spec));
  }
  void add_to(Tensor& h, const Tensor& x) override {
    inner_.add_to(h, x);
    note("add_to", h);
  }

  void linears(const Tensor& x, std::span<const Matrix* const> w,
               std::span<const Vector* const> bias, std::span<Tensor> y) override {
    inner_.linears(x, w, bias, y);
    for (const Tensor& t : y) note("linears", t);
  }
  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    return note("gated", inner_.gated(x, gate, up, f));
  }
  void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) override {
    inner_.linear_add_to(h, x, w, bias);
    note("linear_add_to", h);
  }
  Tensor rope_append(KvLayer at, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Rope& rope) override {
    return note("rope_append", inner_.rope_append(at, q, k, v, rope));
  }

 private:
  Tensor note(const char* op, const Tensor& t);

  std::vector<TapRecord> records_;
  std::vector<float> scratch_;
};

}  // namespace mlxcel
