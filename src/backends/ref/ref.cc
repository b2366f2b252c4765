#include "backends/ref/ref.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/ref/dequantize.h"
#include "base/cat.h"
#include "base/half.h"
#include "ops/arena.h"

namespace mlxcel {
namespace {

struct RefMatrix final : WeightData {
  std::vector<double> w;  // [out, in]
  bool quantized = false;
};

const double* data(const Matrix& m) { return static_cast<const RefMatrix&>(*m.data).w.data(); }
const double* data(const Vector& v) { return static_cast<const RefMatrix&>(*v.data).w.data(); }

// One group of 32 as int8 codes times a scale, rounded as kernels/matmul/quantize.h says.
void round_group(double* x) {
  float amax = 0;
  for (int i = 0; i < 32; i++) amax = std::max(amax, std::fabs(static_cast<float>(x[i])));
  const float inverse = amax >= 0x1p-100f ? 127.0f / amax : 0.0f,
              scale = amax >= 0x1p-100f ? amax / 127.0f : 0.0f;
  for (int i = 0; i < 32; i++)
    x[i] = static_cast<double>(scale) * std::nearbyint(static_cast<float>(x[i]) * inverse);
}

double to_bf16(double x) { return bf16_to_f32(f32_to_bf16(static_cast<float>(x))); }

// Codes of up to 4 bits, which the CUDA backend opens as bf16.
bool few_bits(const WeightSource& s) {
  if (s.affine.bits > 0) return s.affine.bits <= 4;
  return s.dtype == DType::kQ4_0 || s.dtype == DType::kQ4_1;
}

class Ref final : public Backend {
 public:
  explicit Ref(const RefOptions& options) : options_(options) {}

  BackendInfo info() const override { return {"ref", "cpu", "double", 1, "ref/double"}; }

  Result<Matrix> matrix(const WeightSource& s) override {
    TRY(auto w, load(s));
    return Matrix{s.out, s.in, std::move(w)};
  }
  Result<Vector> vector(const WeightSource& s) override {
    TRY(auto w, load(s));
    return Vector{s.in, std::move(w)};
  }
  int64_t matrix_bytes(const WeightSource& s) const override { return s.out * s.in * 8; }

  Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 const StepLimits& limits) override {
    groups_.assign(groups.begin(), groups.end());
    pages_.clear();
    for (size_t g = 0; g < groups.size(); g++) {
      pages_.emplace_back(page_elements(groups_[g]) * pages[g], NAN);
    }
    last_sample_.assign(limits.sequences, -1);
    return Ok{};
  }
  int64_t page_bytes(const KvGroup& g) const override { return page_elements(g) * 8; }
  void copy_page(int group, PageId from, PageId to, int positions) override {
    const KvGroup& g = groups_[group];
    for (int layer = 0; layer < g.layers; layer++) {
      std::copy_n(key(group, layer, from, 0), positions * row_elements(g),
                  key(group, layer, to, 0));
    }
  }

  void begin(const Step& step) override {
    step_ = &step;
    arena_.reset();
  }
  void end() override { step_ = nullptr; }
  int64_t open_scope() override { return arena_.mark(); }
  void close_scope(int64_t mark) override { arena_.release(mark); }

  Tensor embed(const Matrix& table) override {
    const Tensor y = make({step_->rows(), table.in});
    for (int64_t r = 0; r < step_->rows(); r++) {
      const RowInput& input = step_->inputs[r];
      if (input.kind == RowInput::Kind::kEmbedding) {
        const float* e = step_->embeddings.data() + input.index * table.in;
        std::copy_n(e, table.in, at(y) + r * table.in);
        continue;
      }
      const int32_t id =
          input.kind == RowInput::Kind::kToken ? input.index : last_sample_[input.index];
      CHECK(id >= 0 && id < table.out);
      std::copy_n(data(table) + id * table.in, table.in, at(y) + r * table.in);
    }
    return y;
  }

  Tensor linear(const Tensor& x, const Matrix& w, const Vector* bias) override {
    CHECK(x.shape.back() == w.in);
    const int64_t rows = x.shape.rows();
    const Tensor y = make({rows, w.out});
    const bool round = options_.act_int8 && static_cast<const RefMatrix&>(*w.data).quantized;
    std::vector<double> input(w.in);
    for (int64_t r = 0; r < rows; r++) {
      std::copy_n(at(x) + r * w.in, w.in, input.data());
      for (int64_t k = 0; round && k < w.in; k += 32) round_group(input.data() + k);
      for (int64_t k = 0; options_.bf16 && k < w.in; k++) input[k] = to_bf16(input[k]);
      for (int64_t o = 0; o < w.out; o++) {
        double sum = bias != nullptr ? data(*bias)[o] : 0;
        for (int64_t k = 0; k < w.in; k++) sum += data(w)[o * w.in + k] * input[k];
        at(y)[r * w.out + o] = sum;
      }
    }
    return y;
  }

  Tensor rms_norm(const Tensor& x, const Vector& gain, float eps) override {
    const int64_t dim = x.shape.back();
    CHECK(gain.size == dim);
    const Tensor y = make(x.shape);
    for (int64_t r = 0; r < x.shape.rows(); r++) {
      const double* in = at(x) + r * dim;
      double sum = 0;
      for (int64_t i = 0; i < dim; i++) sum += in[i] * in[i];
      const double inverse = 1 / std::sqrt(sum / static_cast<double>(dim) + eps);
      for (int64_t i = 0; i < dim; i++) at(y)[r * dim + i] = in[i] * inverse * data(gain)[i];
    }
    return y;
  }

  Tensor rope(const Tensor& x, const Rope& rope) override {
    const int64_t heads = x.shape[1], dim = x.shape[2], half = rope.dims() / 2;
    CHECK(step_->position_axes == 1 && rope.dims() <= dim);
    const Tensor y = make(x.shape);
    std::copy_n(at(x), x.shape.size(), at(y));
    for (int64_t r = 0; r < x.shape[0]; r++) {
      for (int64_t i = 0; i < half; i++) {
        const double angle = step_->positions[r] * rope.inv_freq[i];
        const double c = std::cos(angle) * rope.magnitude, s = std::sin(angle) * rope.magnitude;
        for (int64_t h = 0; h < heads; h++) {
          double* v = at(y) + (r * heads + h) * dim;
          const double a = v[i], b = v[i + half];
          v[i] = a * c - b * s;
          v[i + half] = b * c + a * s;
        }
      }
    }
    return y;
  }

  void append(KvLayer where, const Tensor& k, const Tensor& v) override {
    const KvGroup& g = groups_[where.group];
    const int64_t keys = g.kv_heads * g.key_dim, values = g.kv_heads * g.value_dim;
    for (const Segment& s : step_->segments) {
      for (int32_t i = 0; i < s.rows; i++) {
        double* to = slot(where, s, s.start + i);
        std::copy_n(at(k) + (s.first_row + i) * keys, keys, to);
        std::copy_n(at(v) + (s.first_row + i) * values, values, to + keys);
        for (int64_t j = 0; options_.kv_f16 && j < keys + values; j++) {
          to[j] = f16_to_f32(f32_to_f16(static_cast<float>(to[j])));
        }
        for (int64_t j = 0; options_.bf16 && j < keys + values; j++) to[j] = to_bf16(to[j]);
      }
    }
  }

  Tensor attend(KvLayer where, const Tensor& q, const AttendSpec& a) override {
    const Tensor y =
        make({q.shape[0], static_cast<int64_t>(a.heads) * groups_[where.group].value_dim});
    for (const Segment& s : step_->segments) {
      for (int32_t i = 0; i < s.rows; i++) {
        for (int h = 0; h < a.heads; h++) attend_row(where, s, i, h, q, a, y);
      }
    }
    return y;
  }

  Tensor add(const Tensor& a, const Tensor& b) override {
    return map(a, [&](int64_t i) { return at(a)[i] + at(b)[i]; });
  }
  Tensor mul(const Tensor& a, const Tensor& b) override {
    return map(a, [&](int64_t i) { return at(a)[i] * at(b)[i]; });
  }
  Tensor scale(const Tensor& x, float factor) override {
    return map(x, [&](int64_t i) { return at(x)[i] * factor; });
  }
  Tensor activate(const Tensor& x, Activation f) override {
    return map(x, [&](int64_t i) {
      const double v = at(x)[i];
      if (f == Activation::kSilu) return v / (1 + std::exp(-v));
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    });
  }
  Tensor softcap(const Tensor& x, float cap) override {
    return map(x, [&](int64_t i) { return cap * std::tanh(at(x)[i] / cap); });
  }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    const int64_t dim = x.shape.back();
    const Tensor y = make({x.shape.rows(), count});
    for (int64_t r = 0; r < x.shape.rows(); r++)
      std::copy_n(at(x) + r * dim + first, count, at(y) + r * count);
    return y;
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    const int64_t dim = x.shape.back();
    const Tensor y = make({static_cast<int64_t>(rows.size()), dim});
    for (size_t i = 0; i < rows.size(); i++)
      std::copy_n(at(x) + rows[i] * dim, dim, at(y) + i * dim);
    return y;
  }
  Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                 const ExpertSpec& spec) override;

  void add_to(Tensor& h, const Tensor& x) override {
    for (int64_t i = 0; i < h.shape.size(); i++) at(h)[i] += at(x)[i];
  }

  void sample(const Tensor& logits, std::span<const SampleRow> rows,
              std::span<Sample> out) override;

  void read(const Tensor& x, std::span<float> out) override {
    CHECK(static_cast<int64_t>(out.size()) == x.shape.size());
    for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<float>(at(x)[i]);
  }

 private:
  Result<std::shared_ptr<RefMatrix>> load(const WeightSource& s) const {
    if (!ref_knows(s)) {
      return Error{Code::kUnsupported,
                   cat(s.name, ": the reference backend does not read ", name(s.dtype))};
    }
    auto m = std::make_shared<RefMatrix>();
    m->w.resize(s.out * s.in);
    // Small floats are multiplied with floats, but for mxfp4.
    const AffineCodes& a = s.affine;
    const bool codes = a.bits > 0 && (!a.small_floats() || (a.bits == 4 && a.group == 32));
    m->quantized = codes || (a.bits == 0 && mlxcel::info(s.dtype).block > 1);
    for (int64_t r = 0; r < s.out; r++) dequantize_row(s, r, m->w.data() + r * s.in);
    for (double& w : m->w) w = options_.bf16 && few_bits(s) ? to_bf16(w) : w;
    return m;
  }

  Tensor make(const Shape& shape) {
    const Tensor t = arena_.allocate(shape);
    memory_.resize(std::max<size_t>(memory_.size(), arena_.mark()), NAN);
    return t;
  }
  double* at(const Tensor& t) { return memory_.data() + t.at; }

  template <class F>
  Tensor map(const Tensor& like, F f) {
    const Tensor y = make(like.shape);
    for (int64_t i = 0; i < like.shape.size(); i++) at(y)[i] = f(i);
    return y;
  }

  // A position's keys, then its values; a page holds [layers][64] of them.
  static int64_t row_elements(const KvGroup& g) {
    return static_cast<int64_t>(g.kv_heads) * (g.key_dim + g.value_dim);
  }
  static int64_t page_elements(const KvGroup& g) {
    return g.layers * kPagePositions * row_elements(g);
  }
  double* key(int group, int layer, PageId page, int position) {
    const KvGroup& g = groups_[group];
    CHECK(page >= 0);
    return pages_[group].data() + page * page_elements(g) +
           (layer * kPagePositions + position) * row_elements(g);
  }
  double* slot(KvLayer where, const Segment& s, int32_t position) {
    const PageId page = s.tables[where.group][position / kPagePositions];
    return key(where.group, where.layer, page, position % kPagePositions);
  }

  void attend_row(KvLayer where, const Segment& s, int32_t i, int h, const Tensor& q,
                  const AttendSpec& a, const Tensor& y) {
    const KvGroup& g = groups_[where.group];
    const int kv_head = h / (a.heads / a.kv_heads);
    const Visible see = visible(s, i, a.window);
    const double* query = at(q) + ((s.first_row + i) * a.heads + h) * a.head_dim;
    std::vector<double> p(see.end - see.begin);
    double most = -INFINITY, total = 0;
    for (int32_t t = see.begin; t < see.end; t++) {
      const double* k = slot(where, s, t) + kv_head * g.key_dim;
      double dot = 0;
      for (int d = 0; d < a.head_dim; d++)
        dot += (options_.bf16 ? to_bf16(query[d]) : query[d]) * k[d];
      dot *= a.scale;
      if (a.softcap > 0) dot = a.softcap * std::tanh(dot / a.softcap);
      p[t - see.begin] = dot;
      most = std::max(most, dot);
    }
    for (double& v : p) {
      v = std::exp(v - most);
      if (options_.bf16) v = to_bf16(v);
      total += v;
    }
    double* out = at(y) + ((s.first_row + i) * a.heads + h) * g.value_dim;
    std::fill_n(out, g.value_dim, 0.0);
    for (int32_t t = see.begin; t < see.end; t++) {
      const double* v = slot(where, s, t) + g.kv_heads * g.key_dim + kv_head * g.value_dim;
      for (int d = 0; d < g.value_dim; d++) out[d] += p[t - see.begin] / total * v[d];
    }
  }

  RefOptions options_;
  const Step* step_ = nullptr;
  Arena arena_;
  std::vector<double> memory_;
  std::vector<KvGroup> groups_;
  std::vector<std::vector<double>> pages_;  // [group]
  std::vector<int32_t> last_sample_;        // [slot]
};

Tensor Ref::experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                    const ExpertSpec& spec) {
  const int64_t dim = x.shape.back(), experts = logits.shape.back();
  const Tensor y = make(x.shape);
  const int64_t mark = arena_.mark();
  for (int64_t r = 0; r < x.shape.rows(); r++) {
    const std::vector<double> l(at(logits) + r * experts, at(logits) + (r + 1) * experts);
    std::vector<int32_t> order(experts);
    for (int32_t i = 0; i < experts; i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return l[a] > l[b]; });
    double total = 0;
    for (int64_t i = 0; i < (spec.normalize ? spec.used : experts); i++)
      total += std::exp(l[order[i]] - l[order[0]]);
    std::fill_n(at(y) + r * dim, dim, 0.0);
    for (int i = 0; i < spec.used; i++) {
      const size_t e = static_cast<size_t>(order[i]);
      const Tensor row = {Shape({1, dim}), x.at + r * dim};
      const Tensor out =
          linear(gated(row, stack.gate[e], stack.up[e], spec.activation), stack.down[e], nullptr);
      const double p = std::exp(l[order[i]] - l[order[0]]) / total;
      for (int64_t k = 0; k < dim; k++) at(y)[r * dim + k] += p * at(out)[k];
      arena_.release(mark);
    }
  }
  return y;
}

// Greedy only: drawing with noise is defined by kernels/sample, which has references of its own.
void Ref::sample(const Tensor& logits, std::span<const SampleRow> rows, std::span<Sample> out) {
  const int64_t vocab = logits.shape.back();
  for (size_t r = 0; r < rows.size(); r++) {
    std::vector<double> l(at(logits) + r * vocab, at(logits) + (r + 1) * vocab);
    for (const LogitEdit& e : rows[r].edits) {
      double& v = l[e.token];
      v = (v > 0 ? v / e.repeat : v * e.repeat) + e.add;
    }
    for (size_t t = 0; !rows[r].allowed.empty() && t < l.size(); t++) {
      if ((rows[r].allowed[t / 32] >> (t % 32) & 1) == 0) l[t] = -INFINITY;
    }
    const int32_t best = static_cast<int32_t>(std::max_element(l.begin(), l.end()) - l.begin());
    out[r] = Sample();
    out[r].token = best;
    if (rows[r].sequence < static_cast<int32_t>(last_sample_.size()))
      last_sample_[rows[r].sequence] = best;
  }
}

}  // namespace

std::unique_ptr<Backend> make_ref_backend(const RefOptions& options) {
  return std::make_unique<Ref>(options);
}

}  // namespace mlxcel
