#include "backends/dry/dry.h"

#include <algorithm>

#include "ops/arena.h"

namespace mlxcel {
namespace {

struct DryMatrix final : WeightData {
  explicit DryMatrix(int64_t n) : bytes(n) {}
  int64_t bytes;
};

int64_t source_bytes(const WeightSource& s) {
  if (s.affine.bits == 0) return bytes_of(s.dtype, s.out * s.in);
  const int64_t groups = s.out * s.in / s.affine.group;
  const int64_t numbers = groups * info(s.affine.scale_dtype).bytes;
  return s.out * s.in * s.affine.bits / 8 + (s.affine.small_floats() ? 1 : 2) * numbers;
}

class Dry final : public DryBackend {
 public:
  DryCounts counts() const override { return counts_; }
  BackendInfo info() const override { return {"dry", "none", "none", 1, "dry"}; }

  Result<Matrix> matrix(const WeightSource& s) override {
    return Matrix{s.out, s.in, std::make_shared<DryMatrix>(source_bytes(s))};
  }
  Result<Vector> vector(const WeightSource& s) override {
    return Vector{s.in, std::make_shared<DryMatrix>(source_bytes(s))};
  }
  int64_t matrix_bytes(const WeightSource& s) const override { return source_bytes(s); }

  Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 const StepLimits&) override {
    groups_.assign(groups.begin(), groups.end());
    pages_.assign(pages.begin(), pages.end());
    return Ok{};
  }
  int64_t page_bytes(const KvGroup& g) const override {
    return 2 * static_cast<int64_t>(g.layers) * kPagePositions * g.kv_heads *
           (g.key_dim + g.value_dim);
  }
  void copy_page(int group, PageId from, PageId to, int positions) override {
    check_page(group, from);
    check_page(group, to);
    CHECK(from != to && positions >= 0 && positions <= kPagePositions);
  }

  void begin(const Step& step) override {
    CHECK(step_ == nullptr);
    step_ = &step;
    arena_.reset();
    check(step);
  }
  void end() override { step_ = nullptr; }
  int64_t open_scope() override { return arena_.mark(); }
  void close_scope(int64_t mark) override { arena_.release(mark); }

  Tensor embed(const Matrix& table) override {
    for (const RowInput& input : step_->inputs) {
      CHECK(input.index >= 0 && (input.kind != RowInput::Kind::kToken || input.index < table.out));
    }
    return make({step_->rows(), table.in});
  }
  Tensor linear(const Tensor& x, const Matrix& w, const Vector* bias) override {
    CHECK(x.shape.back() == w.in && (bias == nullptr || bias->size == w.out));
    counts_.flops += 2 * x.shape.rows() * w.out * w.in;
    counts_.weight_bytes += static_cast<const DryMatrix&>(*w.data).bytes;
    return make({x.shape.rows(), w.out});
  }
  Tensor rms_norm(const Tensor& x, const Vector& gain, float) override {
    CHECK(gain.size == x.shape.back());
    return make(x.shape);
  }
  Tensor rope(const Tensor& x, const Rope& rope) override {
    CHECK(x.shape.rank() == 3 && rope.dims() <= x.shape[2]);
    return make(x.shape);
  }
  void append(KvLayer at, const Tensor& k, const Tensor& v) override {
    const KvGroup& g = group(at);
    CHECK(k.shape == Shape({step_->rows(), g.kv_heads, g.key_dim}));
    CHECK(v.shape == Shape({step_->rows(), g.kv_heads, g.value_dim}));
    counts_.kv_bytes += 2 * (k.shape.size() + v.shape.size());
    counts_.ops++;
  }
  Tensor attend(KvLayer at, const Tensor& q, const AttendSpec& a) override {
    const KvGroup& g = group(at);
    CHECK(q.shape == Shape({step_->rows(), a.heads, a.head_dim}));
    CHECK(a.kv_heads == g.kv_heads && a.head_dim == g.key_dim && a.heads % a.kv_heads == 0);
    for (const Segment& s : step_->segments) {
      counts_.kv_bytes +=
          2 * static_cast<int64_t>(s.start + s.rows) * g.kv_heads * (g.key_dim + g.value_dim);
      for (int32_t i = 0; i < s.rows; i++) {
        const Visible see = visible(s, i, a.window);
        counts_.flops +=
            2 * static_cast<int64_t>(see.end - see.begin) * a.heads * (g.key_dim + g.value_dim);
        for (int32_t p = see.begin / kPagePositions; p <= (see.end - 1) / kPagePositions; p++) {
          check_page(at.group, s.tables[at.group][p]);
        }
      }
    }
    return make({step_->rows(), static_cast<int64_t>(a.heads) * g.value_dim});
  }
  Tensor add(const Tensor& a, const Tensor& b) override { return same(a, b); }
  Tensor mul(const Tensor& a, const Tensor& b) override { return same(a, b); }
  Tensor scale(const Tensor& x, float) override { return make(x.shape); }
  Tensor activate(const Tensor& x, Activation) override { return make(x.shape); }
  Tensor softcap(const Tensor& x, float) override { return make(x.shape); }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    CHECK(first >= 0 && count > 0 && first + count <= x.shape.back());
    return make({x.shape.rows(), count});
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    for (const int32_t r : rows) CHECK(r >= 0 && r < x.shape.rows());
    return make({static_cast<int64_t>(rows.size()), x.shape.back()});
  }
  Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                 const ExpertSpec& spec) override {
    const int64_t rows = x.shape.rows(), dim = x.shape.back(), ffn = stack.gate[0].out;
    const auto experts = static_cast<int64_t>(stack.gate.size());
    CHECK(logits.shape == Shape({rows, experts}) && spec.used >= 1 && spec.used <= experts);
    counts_.flops += 2 * rows * spec.used * 3 * ffn * dim;
    for (int64_t e = 0; e < std::min(experts, rows * spec.used); e++) {  // as many as there may be
      for (const Matrix* m : {&stack.gate[e], &stack.up[e], &stack.down[e]})
        counts_.weight_bytes += static_cast<const DryMatrix&>(*m->data).bytes;
    }
    const Tensor y = make({rows, dim});
    const int64_t mark = arena_.mark();
    make({rows, dim}), make({rows, ffn}), make({rows, ffn}), make({rows, dim});
    make({rows * spec.used, dim});
    arena_.release(mark);
    return y;
  }
  void add_to(Tensor& h, const Tensor& x) override {
    CHECK(h.shape.size() == x.shape.size());
    counts_.ops++;
  }

  void sample(const Tensor& logits, std::span<const SampleRow> rows,
              std::span<Sample> out) override {
    CHECK(rows.size() == out.size() && logits.shape.rows() == static_cast<int64_t>(rows.size()));
    for (size_t i = 0; i < rows.size(); i++) {
      uint64_t x = rows[i].key.seed * 0x9e3779b97f4a7c15ull + rows[i].key.position +
                   rows[i].key.choice * 0x2545f491ull;
      x ^= x >> 31;
      x *= 0xbf58476d1ce4e5b9ull;
      x ^= x >> 29;
      out[i] = Sample();
      out[i].token = static_cast<int32_t>(x % static_cast<uint64_t>(logits.shape.back()));
    }
  }
  void read(const Tensor& x, std::span<float> out) override {
    CHECK(static_cast<int64_t>(out.size()) == x.shape.size());
    std::fill(out.begin(), out.end(), 0.0f);
  }

 private:
  void check(const Step& step) const {
    CHECK(step.rows() > 0 && step.positions.size() == step.inputs.size() * step.position_axes);
    int32_t next = 0;
    for (const Segment& s : step.segments) {
      CHECK(s.first_row == next && s.rows > 0 && s.start >= 0 && s.tables.size() == groups_.size());
      next += s.rows;
      for (size_t g = 0; g < groups_.size(); g++) {  // the pages that this step writes
        for (int32_t p = s.start / kPagePositions; p <= (s.start + s.rows - 1) / kPagePositions;
             p++) {
          CHECK(p < static_cast<int32_t>(s.tables[g].size()));
          check_page(static_cast<int>(g), s.tables[g][p]);
        }
      }
    }
    CHECK(next == step.rows());
    CHECK(std::is_sorted(step.head_rows.begin(), step.head_rows.end()));
  }
  void check_page(int group, PageId page) const { CHECK(page >= 0 && page < pages_[group]); }
  const KvGroup& group(KvLayer at) const {
    CHECK(at.group < static_cast<int>(groups_.size()) && at.layer < groups_[at.group].layers);
    return groups_[at.group];
  }

  Tensor make(const Shape& shape) {
    counts_.ops++;
    const Tensor t = arena_.allocate(shape);
    counts_.arena_peak = arena_.peak();
    return t;
  }
  Tensor same(const Tensor& a, const Tensor& b) {
    CHECK(a.shape.size() == b.shape.size());
    return make(a.shape);
  }

  const Step* step_ = nullptr;
  Arena arena_;
  DryCounts counts_;
  std::vector<KvGroup> groups_;
  std::vector<int32_t> pages_;
};

}  // namespace

std::unique_ptr<DryBackend> make_dry_backend() { return std::make_unique<Dry>(); }

}  // namespace mlxcel
