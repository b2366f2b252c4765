#include "backends/cpu/cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernel_use.h"
#include "backends/cpu/kv.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/weights.h"
#include "base/buffer.h"
#include "base/cat.h"
#include "base/environment.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "kernels/route/route.h"
#include "kernels/sample/sample.h"
#include "ops/arena.h"

namespace mlxcel {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

class Cpu final : public CpuBackend {
 public:
  explicit Cpu(const CpuOptions& options)
      : options_(options),
        team_(std::in_place, options.threads),
        linear_(options.float_activations),
        kv_(options.kv) {}

  void set_threads(int threads) override { team_.emplace(threads); }

  BackendInfo info() const override {
    return {"cpu", cpu_model(), name(current_isa()), team_->size(),
            cat("cpu/act-", options_.float_activations ? "f32" : "int8", "/kv-", name(kv_.type()))};
  }

  Result<Matrix> matrix(const WeightSource& s) override {
    TRY(Matrix m, pack_matrix(s, *team_, weights_));
    linear_.know(m);
    return m;
  }
  Result<Vector> vector(const WeightSource& s) override { return load_vector(s, weights_); }
  int64_t matrix_bytes(const WeightSource& s) const override {
    const auto format = format_of(s);
    return format ? quant::packed_bytes(**format, s.out, s.in) : 0;
  }

  Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 const StepLimits& limits) override {
    TRY_OK(kv_.open(groups, pages, team_->nodes()));
    TRY_OK(linear_.reserve(limits.rows));
    TRY(memory_, Buffer::make(limits.arena * 4));
    last_sample_.assign(limits.sequences, -1);
    return Ok{};
  }
  int64_t page_bytes(const KvGroup& g) const override { return kv_.page_bytes(g); }
  void copy_page(int group, PageId from, PageId to, int) override {
    kv_.copy_page(group, from, to);
  }
  Status read_page(int group, PageId page, std::span<std::byte> out) override {
    const auto bytes = kv_.page(group, page);
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return Ok{};
  }
  Status write_page(int group, PageId page, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), kv_.page(group, page).begin());
    return Ok{};
  }
  std::vector<KernelUse> take_kernel_use() override { return use_.take(); }

  void begin(const Step& step) override {
    set_exact_float_mode();  // the caller is the team's thread 0 and need not be who made it
    step_ = &step;
    arena_.reset();
    angles_used_ = 0;
  }
  void end() override { step_ = nullptr; }
  int64_t open_scope() override { return arena_.mark(); }
  void close_scope(int64_t mark) override { arena_.release(mark); }

  Tensor embed(const Matrix& table) override {
    const Tensor y = make({step_->rows(), table.in});
    const CpuMatrix& m = cpu(table);
    each_row(step_->rows(), [&](int64_t r) {
      const RowInput& input = step_->inputs[r];
      float* to = at(y) + r * table.in;
      if (input.kind == RowInput::Kind::kEmbedding) {
        std::copy_n(step_->embeddings.data() + input.index * table.in, table.in, to);
        return;
      }
      const int32_t id =
          input.kind == RowInput::Kind::kToken ? input.index : last_sample_[input.index];
      CHECK(id >= 0 && id < table.out);
      quant::unpack_row(*m.format, m.packed.get(), table.in, id, to);
    });
    return y;
  }

  Tensor linear(const Tensor& x, const Matrix& w, const Vector* bias) override {
    const Tensor y = make({x.shape.rows(), w.out});
    const CpuLinear::Product products[] = {product(w, bias, y)};
    multiply(x, products, false, [](int64_t, int64_t, size_t) {});
    return y;
  }

  Tensor rms_norm(const Tensor& x, const Vector& gain, float eps) override {
    const int64_t dim = x.shape.back();
    CHECK(gain.size == dim);
    const Tensor y = make(x.shape);
    each_row(x.shape.rows(), [&](int64_t r) {
      mlxcel::rms_norm(
          {.x = at(x) + r * dim, .gain = cpu(gain), .y = at(y) + r * dim, .dim = dim, .eps = eps});
    });
    return y;
  }

  Tensor rope(const Tensor& x, const Rope& rope) override {
    CHECK(step_->position_axes == 1 && rope.dims() <= x.shape[2]);
    const Tensor y = make(x.shape);
    const float* table = angles(rope);
    each_row(x.shape[0], [&](int64_t r) { turn_row(x, y, r, table, rope.dims()); });
    return y;
  }

  void append(KvLayer where, const Tensor& k, const Tensor& v) override {
    kv_.append(*step_, where, at(k), at(v), *team_);
  }

  Tensor attend(KvLayer where, const Tensor& q, const AttendSpec& spec) override {
    const Tensor y = make({q.shape[0], static_cast<int64_t>(spec.heads) * spec.head_dim});
    const char* path = kv_.attend(*step_, where, spec, at(q), at(y), *team_);
    use_.note("attend", name(kv_.type()), path, step_->rows());
    return y;
  }

  Tensor add(const Tensor& a, const Tensor& b) override {
    return map(a, [&](int64_t i, int64_t n, float* y) { add_f32(at(a) + i, at(b) + i, y, n); });
  }
  Tensor mul(const Tensor& a, const Tensor& b) override {
    return map(a, [&](int64_t i, int64_t n, float* y) { mul_f32(at(a) + i, at(b) + i, y, n); });
  }
  Tensor scale(const Tensor& x, float factor) override {
    return map(x, [&](int64_t i, int64_t n, float* y) { scale_f32(at(x) + i, factor, y, n); });
  }
  Tensor activate(const Tensor& x, Activation f) override {
    return map(x, [&](int64_t i, int64_t n, float* y) {
      (f == Activation::kSilu ? silu_f32 : gelu_tanh_f32)(at(x) + i, y, n);
    });
  }
  Tensor softcap(const Tensor& x, float cap) override {
    return map(x, [&](int64_t i, int64_t n, float* y) { softcap_f32(at(x) + i, cap, y, n); });
  }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    const int64_t dim = x.shape.back();
    const Tensor y = make({x.shape.rows(), count});
    each_row(x.shape.rows(),
             [&](int64_t r) { std::copy_n(at(x) + r * dim + first, count, at(y) + r * count); });
    return y;
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    const int64_t dim = x.shape.back();
    const Tensor y = make({static_cast<int64_t>(rows.size()), dim});
    for (size_t i = 0; i < rows.size(); i++)
      std::copy_n(at(x) + rows[i] * dim, dim, at(y) + i * dim);
    return y;
  }
  void add_to(Tensor& h, const Tensor& x) override {
    const int64_t dim = h.shape.back();
    each_row(h.shape.rows(), [&](int64_t r) {
      float* to = at(h) + r * dim;
      add_f32(to, at(x) + r * dim, to, dim);
    });
  }

  Tensor experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                 const ExpertSpec& spec) override;

  void sample(const Tensor& logits, std::span<const SampleRow> rows,
              std::span<Sample> out) override {
    const int64_t vocab = logits.shape.back();
    if (static_cast<int64_t>(sample_scratch_.size()) < vocab * team_->size())
      sample_scratch_.resize(vocab * team_->size());
    std::atomic<size_t> next{0};
    const auto work = [&](int thread, int) {
      for (size_t r; (r = next.fetch_add(1)) < rows.size();) {
        out[r] = sample_one(at(logits) + r * vocab, vocab, rows[r],
                            sample_scratch_.data() + thread * vocab);
        if (out[r].token >= 0) last_sample_[rows[r].sequence] = out[r].token;
      }
    };
    if (rows.size() == 1) {
      work(0, 1);
    } else {
      team_->run(work);
    }
  }

  void read(const Tensor& x, std::span<float> out) override {
    CHECK(static_cast<int64_t>(out.size()) == x.shape.size());
    std::memcpy(out.data(), at(x), out.size() * 4);
  }

  // ---- fused: the same products and roundings as the plain bodies, with fewer hand-overs

  void linears(const Tensor& x, std::span<const Matrix* const> w,
               std::span<const Vector* const> bias, std::span<Tensor> y) override {
    CHECK(w.size() <= 8);
    std::array<CpuLinear::Product, 8> products;
    for (size_t i = 0; i < w.size(); i++) {
      y[i] = make({x.shape.rows(), w[i]->out});
      products[i] = product(*w[i], bias.empty() ? nullptr : bias[i], y[i]);
    }
    multiply(x, std::span(products).first(w.size()), false, [](int64_t, int64_t, size_t) {});
  }

  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    const int64_t rows = x.shape.rows(), ffn = gate.out;
    const Tensor g = make({rows, ffn}), u = make({rows, ffn});
    const CpuLinear::Product products[] = {product(gate, nullptr, g), product(up, nullptr, u)};
    const auto combine = f == Activation::kSilu ? silu_mul_f32 : gelu_tanh_mul_f32;
    multiply(x, products, true, [&](int64_t first, int64_t last, size_t i) {
      if (i == 0) return;
      for (int64_t r = 0; r < rows; r++) {
        float* y = at(g) + r * ffn + first;
        combine(y, at(u) + r * ffn + first, y, last - first);
      }
    });
    return g;
  }

  void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) override {
    const int64_t mark = arena_.mark(), rows = x.shape.rows();
    const Tensor y = make({rows, w.out});
    const CpuLinear::Product products[] = {product(w, bias, y)};
    multiply(x, products, false, [&](int64_t first, int64_t last, size_t) {
      for (int64_t r = 0; r < rows; r++) {
        float* to = at(h) + r * w.out + first;
        add_f32(to, at(y) + r * w.out + first, to, last - first);
      }
    });
    arena_.release(mark);
  }

  // Few rows: each while it is in the cache.
  Tensor rope_append(KvLayer where, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Rope& rope) override {
    if (!options_.fused_rope_append || step_->rows() > kAlone)
      return Ops::rope_append(where, q, k, v, rope);
    CHECK(step_->position_axes == 1 && rope.dims() <= q.shape[2] && rope.dims() <= k.shape[2]);
    const Tensor turned_k = make(k.shape), turned_q = make(q.shape);
    const float* table = angles(rope);
    const int64_t keys = k.shape[1] * k.shape[2], values = v.shape[1] * v.shape[2];
    for (const Segment& s : step_->segments) {
      for (int32_t i = 0; i < s.rows; i++) {
        const int64_t r = s.first_row + i;
        turn_row(k, turned_k, r, table, rope.dims());
        kv_.append_row(s, i, where, at(turned_k) + r * keys, at(v) + r * values, 0,
                       static_cast<int>(k.shape[1]));
        turn_row(q, turned_q, r, table, rope.dims());
      }
    }
    return turned_q;
  }

 private:
  struct Angles {
    const Rope* rope = nullptr;
    std::vector<float> table;  // [rows][cosine or sine][dims / 2]
  };

  Tensor make(const Shape& shape) {
    const Tensor t = arena_.allocate(shape);
    CHECK(arena_.mark() * 4 <= memory_.size());
    return t;
  }
  float* at(const Tensor& t) { return memory_.as<float>() + t.at; }

  template <class After>
  void multiply(const Tensor& x, std::span<const CpuLinear::Product> products, bool tied,
                After after) {
    linear_.run(at(x), x.shape.rows(), products, tied, *team_, use_, after);
  }
  CpuLinear::Product product(const Matrix& w, const Vector* bias, const Tensor& y) {
    return {&w, bias == nullptr ? nullptr : cpu(*bias), at(y)};
  }

  // x, y: [rows, heads, head_dim]; table: angles()
  void turn_row(const Tensor& x, const Tensor& y, int64_t r, const float* table, int64_t dims) {
    const int64_t heads = x.shape[1], dim = x.shape[2], row = heads * dim, half = dims / 2;
    rope_row({.x = at(x) + r * row,
              .y = at(y) + r * row,
              .cosine = table + 2 * r * half,
              .sine = table + (2 * r + 1) * half,
              .heads = heads,
              .head_dim = dim,
              .dims = dims});
  }

  static constexpr int64_t kAlone = 8;  // rows: fewer are done before others would have started

  template <class F>
  void each_row(int64_t rows, F f) {
    if (rows <= kAlone) {
      for (int64_t r = 0; r < rows; r++) f(r);
      return;
    }
    team_->run([&](int thread, int threads) {
      for (int64_t r = rows * thread / threads; r < rows * (thread + 1) / threads; r++) f(r);
    });
  }
  template <class F>
  Tensor map(const Tensor& like, F f) {
    const Tensor y = make(like.shape);
    const int64_t dim = like.shape.back();
    each_row(like.shape.rows(), [&](int64_t r) { f(r * dim, dim, at(y) + r * dim); });
    return y;
  }

  // The step's cosines and sines, made once a step and rope.
  const float* angles(const Rope& rope) {
    for (int i = 0; i < angles_used_; i++) {
      if (angles_[i].rope == &rope) return angles_[i].table.data();
    }
    if (angles_used_ == static_cast<int>(angles_.size())) angles_.emplace_back();
    Angles& a = angles_[angles_used_++];
    const int64_t half = rope.dims() / 2, floats = step_->rows() * 2 * half;
    a.rope = &rope;
    if (static_cast<int64_t>(a.table.size()) < floats) a.table.resize(floats);
    each_row(step_->rows(), [&](int64_t r) {
      float* row = a.table.data() + 2 * r * half;
      rope_angles(rope, step_->positions[r], row, row + half);
    });
    return a.table.data();
  }

  static Sample sample_one(const float* logits, int64_t vocab, const SampleRow& row,
                           float* scratch) {
    Sample s;
    SampleArgs a = {};
    a.logits = logits, a.vocab = vocab, a.scratch = scratch;
    a.edits = row.edits.data();
    a.edit_count = static_cast<int64_t>(row.edits.size());
    a.allowed = row.allowed.empty() ? nullptr : row.allowed.data();
    a.temperature = row.temperature, a.top_k = row.top_k, a.top_p = row.top_p, a.min_p = row.min_p;
    a.seed = row.key.seed, a.position = row.key.position, a.choice = row.key.choice;
    a.top = s.top, a.top_count = row.top_logprobs;
    const SampleResult result = sample_row(a);
    s.token = result.token, s.logprob = result.logprob;
    return s;
  }

  CpuOptions options_;
  std::optional<ThreadTeam> team_;
  CpuLinear linear_;
  CpuKv kv_;
  KernelUseCounter use_;
  const Step* step_ = nullptr;
  Arena arena_;
  WeightMemory weights_;
  Buffer memory_;  // the arena's floats
  std::vector<Angles> angles_;
  int angles_used_ = 0;
  std::vector<float> sample_scratch_;
  std::vector<int32_t> last_sample_;  // [slot]
  std::vector<int32_t> routed_;       // experts(): [rows, used] ids
  std::vector<int64_t> chose_;        // places in it of one expert
  std::vector<float> shares_;         // and their p
};

// Expert by expert, each on the rows that chose it; then each row's outputs in order of rank. A row
// of a product does not depend on the others, so neither does a row of the sum.
Tensor Cpu::experts(const Tensor& x, const Tensor& logits, const ExpertStack& stack,
                    const ExpertSpec& spec) {
  const int64_t rows = x.shape.rows(), dim = x.shape.back(), ffn = stack.gate[0].out;
  const int64_t count = logits.shape.back(), used = spec.used;
  const Tensor y = make({rows, dim});
  const int64_t mark = arena_.mark();
  const Tensor in = make({rows, dim}), g = make({rows, ffn}), u = make({rows, ffn}),
               down = make({rows, dim}), out = make({rows * used, dim});
  routed_.resize(std::max<size_t>(routed_.size(), rows * used));
  shares_.resize(std::max<size_t>(shares_.size(), rows * used));
  for (int64_t r = 0; r < rows; r++) {
    route_row({.logits = at(logits) + r * count,
               .experts = count,
               .used = spec.used,
               .normalize = spec.normalize,
               .ids = routed_.data() + r * used,
               .p = shares_.data() + r * used});
  }
  const auto combine = spec.activation == Activation::kSilu ? silu_mul_f32 : gelu_tanh_mul_f32;
  for (int64_t e = 0; e < count; e++) {
    chose_.clear();
    for (int64_t i = 0; i < rows * used; i++) {
      if (routed_[i] == e) chose_.push_back(i);
    }
    const auto n = static_cast<int64_t>(chose_.size());
    if (n == 0) continue;
    for (int64_t i = 0; i < n; i++)
      std::copy_n(at(x) + chose_[i] / used * dim, dim, at(in) + i * dim);
    const auto first_rows = [n](const Tensor& t) {
      return Tensor{Shape({n, t.shape.back()}), t.at};
    };
    const CpuLinear::Product wide[] = {product(stack.gate[e], nullptr, g),
                                       product(stack.up[e], nullptr, u)};
    multiply(first_rows(in), wide, true, [&](int64_t first, int64_t last, size_t i) {
      if (i == 0) return;
      for (int64_t r = 0; r < n; r++) {
        float* to = at(g) + r * ffn + first;
        combine(to, at(u) + r * ffn + first, to, last - first);
      }
    });
    const CpuLinear::Product narrow[] = {product(stack.down[e], nullptr, down)};
    multiply(first_rows(g), narrow, false, [](int64_t, int64_t, size_t) {});
    for (int64_t i = 0; i < n; i++) std::copy_n(at(down) + i * dim, dim, at(out) + chose_[i] * dim);
  }
  each_row(rows, [&](int64_t r) {
    float* to = at(y) + r * dim;
    for (int64_t i = 0; i < used; i++) {
      const float p = shares_[r * used + i];
      const float* from = at(out) + (r * used + i) * dim;
      for (int64_t k = 0; k < dim; k++) to[k] = i == 0 ? p * from[k] : to[k] + p * from[k];
    }
  });
  arena_.release(mark);
  return y;
}

}  // namespace

Result<CpuOptions> cpu_options_from_environment() {
  CpuOptions options;
  const std::string act = environment("MLXCEL_CPU_ACT"), kv = environment("MLXCEL_CPU_KV");
  if (!act.empty() && act != "f32" && act != "int8") {
    return Error{Code::kInvalid, cat("MLXCEL_CPU_ACT: expected int8 or f32, found \"", act, "\"")};
  }
  options.float_activations = act == "f32";
  for (const KvType t : {KvType::kF16, KvType::kBF16, KvType::kInt8}) {
    if (kv == name(t)) options.kv = t;
  }
  if (!kv.empty() && kv != name(options.kv)) {
    return Error{Code::kInvalid,
                 cat("MLXCEL_CPU_KV: expected f16, bf16 or int8, found \"", kv, "\"")};
  }
  TRY(options.fused_rope_append,
      environment_switch("MLXCEL_FUSED_ROPE_APPEND", options.fused_rope_append));
  return options;
}

Result<std::unique_ptr<CpuBackend>> make_cpu_backend(const CpuOptions& options) {
  if (attainable_isas().empty()) {
    return Error{Code::kUnsupported,
                 cat("CPU: expected AVX2, FMA, F16C and BMI2 (or NEON), found ", cpu_model(),
                     " without them; exact results need a fused multiply-add")};
  }
  CpuOptions chosen = options;
  if (chosen.threads <= 0) chosen.threads = usable_processors();
  auto cpu = std::make_unique<Cpu>(chosen);
  if (cpu->info().threads < chosen.threads) {
    return Error{Code::kExhausted, cat("threads: expected ", chosen.threads, ", the system gives ",
                                       cpu->info().threads)};
  }
  return std::unique_ptr<CpuBackend>(std::move(cpu));
}

}  // namespace mlxcel
