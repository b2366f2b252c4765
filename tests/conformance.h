// Conformance of a backend: every op against the reference in double, every fused op against its
// plain body bit for bit.
//
// Inputs enter through embedding rows, so nothing here knows how a backend stores a tensor. Used by
// conformance_test.cc on CPUs and by tools/gpu_check on GPUs.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ops/backend.h"
#include "weights/random.h"

namespace mlxcel {

struct ConformanceFailure {
  std::string op, what;
};

// How far the backend may be from the reference, as a share of the sum of magnitudes that each
// element was made from: the roundings of its longest chain. `matmul` of k terms: k roundings of
// 2^-24 at most, plus what it rounds its inputs to.
struct ConformanceTolerance {
  double elementwise = 8 * 0x1p-24;
  double matmul_per_term = 0x1p-24;
  double matmul_inputs = 0;  // 2^-9 where inputs are rounded to bf16
  double attention = 64 * 0x1p-24;
};

class Conformance {
 public:
  // `ref` makes the same roundings of inputs and KV as `backend` (RefOptions).
  Conformance(Backend& backend, Backend& ref, const ConformanceTolerance& tolerance)
      : backend_(backend), ref_(ref), tolerance_(tolerance) {}

  std::vector<ConformanceFailure> run() {
    for (const int rows : {1, 3, 5, 17, 40}) {
      elementwise(rows);
      experts(rows);
      norm_and_rope(rows);
      for (const DType d :
           {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0}) {
        for (const auto& [out, in] : {std::pair<int64_t, int64_t>{64, 64}, {100, 96}, {31, 256}})
          products(rows, cat(name(d), " [", out, ", ", in, "]"), matrix(d, out, in), out, in);
      }
      for (const SmallFloats f : {SmallFloats::kMxfp8, SmallFloats::kNvfp4, SmallFloats::kFp8}) {
        for (const auto& [out, in] : {std::pair<int64_t, int64_t>{64, 64}, {31, 256}}) {
          const std::string what = cat("small floats ", static_cast<int>(f), " of ", out);
          products(rows, what, small_floats(f, out, in), out, in);
        }
      }
    }
    for (const int window : {0, 40}) attention(window), segments(window);
    samples();
    return failures_;
  }

 private:
  using Body = std::function<std::vector<Tensor>(Backend&)>;
  static constexpr int64_t kDim = 96;

  struct Weights {  // the same weight on both backends
    Matrix matrix[2];
    Vector vector[2];
  };

  size_t side(const Backend& b) const { return &b == &backend_ ? 0 : 1; }

  Weights matrix(DType dtype, int64_t out, int64_t in, uint64_t seed = 7) {
    Weights w;
    for (size_t i = 0; i < 2; i++) {
      const auto status = random_weights(
          [&](WeightVisitor& v) {
            v.matrix(w.matrix[i], out, in, {"w", "w"});
          },
          dtype, seed, i == 0 ? backend_ : ref_);
      CHECK(status);
    }
    return w;
  }
  enum class SmallFloats { kMxfp8, kNvfp4, kFp8 };

  // Any codes; scales under which bf16 holds every number, and which keep |w| below sqrt(3 / in).
  Weights small_floats(SmallFloats kind, int64_t out, int64_t in) {
    std::mt19937 rng(11);
    const bool four = kind == SmallFloats::kNvfp4;
    std::vector<uint8_t> codes(out * in / (four ? 2 : 1)), scales(out * in / (four ? 16 : 32));
    for (uint8_t& c : codes) c = static_cast<uint8_t>(four ? rng() : rng() % 120 | (rng() & 128));
    for (uint8_t& s : scales) s = static_cast<uint8_t>(four ? 4 + rng() % 8 : 111 + rng() % 4);
    std::vector<float> blocks(out);  // one a row
    for (float& b : blocks) b = std::ldexp(1.0f, -13 - static_cast<int>(rng() % 4));
    WeightSource s;
    s.name = "w", s.out = out, s.in = in, s.dtype = DType::kU32;
    s.data = reinterpret_cast<const std::byte*>(codes.data());
    s.bytes = static_cast<int64_t>(codes.size());
    if (kind == SmallFloats::kFp8) {
      s.dtype = DType::kF8_E4M3;
      s.fp8 = {DType::kF32, 1, in, reinterpret_cast<const std::byte*>(blocks.data())};
    } else {
      s.affine = {four ? 4 : 8, four ? 16 : 32, DType::kU8,
                  reinterpret_cast<const std::byte*>(scales.data()), nullptr};
    }
    Weights w;
    for (size_t i = 0; i < 2; i++) {
      auto made = (i == 0 ? backend_ : ref_).matrix(s);
      CHECK(made);
      w.matrix[i] = std::move(*made);
    }
    return w;
  }
  Weights vector(int64_t size) {
    Weights w;
    for (size_t i = 0; i < 2; i++) {
      CHECK(random_weights(
          [&](WeightVisitor& v) {
            v.vector(w.vector[i], size, {"v", "v"});
          },
          DType::kF32, 9, i == 0 ? backend_ : ref_));
    }
    return w;
  }

  // Runs a body on one backend over `rows` random rows of `dim`; the outputs on the host.
  std::vector<std::vector<float>> outputs(
      Backend& b, int rows, int64_t dim,
      const std::function<std::vector<Tensor>(Backend&, const Tensor&)>& body) {
    std::mt19937 rng(5);
    std::normal_distribution<float> normal;
    std::vector<float> embeddings(rows * dim);
    for (float& v : embeddings) v = normal(rng);
    std::vector<RowInput> inputs(rows);
    std::vector<int32_t> positions(rows);
    for (int i = 0; i < rows; i++)
      inputs[i] = {RowInput::Kind::kEmbedding, i}, positions[i] = 100 + 3 * i;
    const std::vector<PageId> page = {0, 1, 2, 3};
    const std::vector<PageTable> tables = {page};
    const Segment segment = {.rows = rows, .tables = tables};
    Step step;
    step.inputs = inputs, step.positions = positions, step.segments = {&segment, 1},
    step.embeddings = embeddings;
    open(b);
    Weights table = matrix(DType::kF32, 1, dim);
    b.begin(step);
    std::vector<std::vector<float>> all;
    for (const Tensor& t : body(b, b.embed(table.matrix[side(b)]))) {
      all.emplace_back(t.shape.size());
      b.read(t, all.back());
    }
    b.end();
    return all;
  }

  void open(Backend& b) {
    const KvGroup group = {.layers = 1, .kv_heads = 2, .key_dim = 48, .value_dim = 48};
    const int32_t pages = 8;
    CHECK(b.open_kv(
        {&group, 1}, {&pages, 1},
        {.rows = 512, .head_rows = 64, .sequences = 4, .positions = 512, .arena = 1 << 20}));
  }

  // `magnitude` bounds the sum of magnitudes behind an element.
  void compare(const std::string& op, int rows, int64_t dim, double tolerance, double magnitude,
               const std::function<std::vector<Tensor>(Backend&, const Tensor&)>& body) {
    const auto got = outputs(backend_, rows, dim, body), want = outputs(ref_, rows, dim, body);
    for (size_t o = 0; o < got.size(); o++) {
      for (size_t i = 0; i < got[o].size(); i++) {
        const double error = std::fabs(static_cast<double>(got[o][i]) - want[o][i]);
        if (error <= tolerance * (magnitude + std::fabs(want[o][i])) + 0x1p-126) continue;
        failures_.push_back({op, cat(rows, " rows, output ", o, ", element ", i, ": expected ",
                                     want[o][i], ", found ", got[o][i])});
        return;
      }
    }
  }

  // Two bodies on the backend itself: equal bits.
  void equal(const std::string& op, int rows, int64_t dim,
             const std::function<std::vector<Tensor>(Backend&, const Tensor&)>& fused,
             const std::function<std::vector<Tensor>(Backend&, const Tensor&)>& plain) {
    const auto a = outputs(backend_, rows, dim, fused), b = outputs(backend_, rows, dim, plain);
    for (size_t o = 0; o < a.size(); o++) {
      if (std::memcmp(a[o].data(), b[o].data(), a[o].size() * 4) == 0) continue;
      failures_.push_back(
          {op, cat(rows, " rows, output ", o, ": the fused op differs from its definition")});
      return;
    }
  }

  void elementwise(int rows) {
    const double t = tolerance_.elementwise;
    compare("embed", rows, kDim, 0, 0, [](Backend&, const Tensor& x) { return std::vector{x}; });
    compare("add", rows, kDim, t, 0,
            [](Backend& b, const Tensor& x) { return std::vector{b.add(x, x)}; });
    compare("mul", rows, kDim, t, 0,
            [](Backend& b, const Tensor& x) { return std::vector{b.mul(x, x)}; });
    compare("scale", rows, kDim, t, 0,
            [](Backend& b, const Tensor& x) { return std::vector{b.scale(x, 0.3f)}; });
    compare("silu", rows, kDim, t, 0, [](Backend& b, const Tensor& x) {
      return std::vector{b.activate(x, Activation::kSilu)};
    });
    compare("gelu_tanh", rows, kDim, 4 * t, 1, [](Backend& b, const Tensor& x) {
      return std::vector{b.activate(x, Activation::kGeluTanh)};
    });
    compare("softcap", rows, kDim, t, 0,
            [](Backend& b, const Tensor& x) { return std::vector{b.softcap(x, 1.5f)}; });
    compare("columns", rows, kDim, 0, 0,
            [](Backend& b, const Tensor& x) { return std::vector{b.columns(x, 17, 31)}; });
    const std::vector<int32_t> last = {0, rows - 1};
    compare("take_rows", rows, kDim, 0, 0,
            [&](Backend& b, const Tensor& x) { return std::vector{b.take_rows(x, last)}; });
    compare("add_to", rows, kDim, t, 0, [](Backend& b, const Tensor& x) {
      Tensor h = b.scale(x, 2);
      b.add_to(h, x);
      return std::vector{h};
    });
  }

  void experts(int rows) {
    if (!backend_.has_experts()) return;
    constexpr int64_t kFfn = 64;
    const Weights router = matrix(DType::kF32, 5, kDim, 20);
    ExpertStack stack[2];  // by side
    for (uint64_t e = 0; e < 5; e++) {
      const Weights gate = matrix(DType::kF32, kFfn, kDim, 30 + e),
                    up = matrix(DType::kF32, kFfn, kDim, 40 + e),
                    down = matrix(DType::kF32, kDim, kFfn, 50 + e);
      for (size_t i = 0; i < 2; i++) {
        stack[i].gate.push_back(gate.matrix[i]), stack[i].up.push_back(up.matrix[i]);
        stack[i].down.push_back(down.matrix[i]);
      }
    }
    for (const bool normalize : {false, true}) {
      const ExpertSpec spec = {.used = 2, .normalize = normalize};
      const auto run = [&](Backend& b, const Tensor& x) {
        const size_t s = side(b);
        return b.experts(x, b.linear(x, router.matrix[s], nullptr), stack[s], spec);
      };
      compare("experts", rows, kDim, tolerance_.matmul_per_term * 4 * kDim, 12,
              [&](Backend& b, const Tensor& x) { return std::vector{run(b, x)}; });
      const auto row = [](Backend& b, const Tensor& x, int32_t r) {
        const int32_t rows_of[] = {r};
        return b.take_rows(x, rows_of);
      };
      equal(
          "experts of one row", rows, kDim,
          [&](Backend& b, const Tensor& x) {
            const Tensor all = run(b, x);
            std::vector<Tensor> y;
            for (int32_t r = 0; r < rows; r++) y.push_back(row(b, all, r));
            return y;
          },
          [&](Backend& b, const Tensor& x) {
            std::vector<Tensor> y;
            for (int32_t r = 0; r < rows; r++) y.push_back(run(b, row(b, x, r)));
            return y;
          });
    }
  }

  void norm_and_rope(int rows) {
    const Weights gain = vector(kDim);
    compare("rms_norm", rows, kDim, 4 * tolerance_.elementwise, 0,
            [&](Backend& b, const Tensor& x) {
              return std::vector{b.rms_norm(x, gain.vector[side(b)], 1e-5f)};
            });
    const Rope rope = plain_rope(32, 10000);
    compare("rope", rows, kDim, tolerance_.elementwise, 4, [&](Backend& b, const Tensor& x) {
      return std::vector{b.rope(x.reshape({rows, 2, 48}), rope)};
    });
  }

  void products(int rows, const std::string& format, const Weights& w, int64_t out, int64_t in) {
    const Weights &v = w, bias = vector(out);
    const std::string what = " " + format;
    // |w| <= sqrt(3 / in) * 1.35 and |x| below 5 or so: in * both bounds the terms' magnitudes.
    const double magnitude = 12 * std::sqrt(static_cast<double>(in));
    const double t =
        tolerance_.matmul_per_term * static_cast<double>(in) / 8 + tolerance_.matmul_inputs;
    compare("linear" + what, rows, in, t, magnitude, [&](Backend& b, const Tensor& x) {
      const size_t s = side(b);
      return std::vector{b.linear(x, w.matrix[s], nullptr),
                         b.linear(x, v.matrix[s], &bias.vector[s])};
    });
    equal(
        "linears" + what, rows, in,
        [&](Backend& b, const Tensor& x) {
          std::vector<Tensor> y(2);
          const Matrix* m[] = {&w.matrix[0], &v.matrix[0]};
          const Vector* c[] = {nullptr, &bias.vector[0]};
          b.linears(x, m, c, y);
          return y;
        },
        [&](Backend& b, const Tensor& x) {
          return std::vector{b.linear(x, w.matrix[0], nullptr),
                             b.linear(x, v.matrix[0], &bias.vector[0])};
        });
    for (const Activation f : {Activation::kSilu, Activation::kGeluTanh}) {
      equal(
          "gated" + what, rows, in,
          [&](Backend& b, const Tensor& x) {
            return std::vector{b.gated(x, w.matrix[0], v.matrix[0], f)};
          },
          [&](Backend& b, const Tensor& x) {
            return std::vector{b.Ops::gated(x, w.matrix[0], v.matrix[0], f)};
          });
    }
    const auto added = [&](Backend& b, const Tensor& x, bool fused) {
      Tensor h = b.scale(b.linear(x, v.matrix[0], nullptr), 0.5f);
      fused ? b.linear_add_to(h, x, w.matrix[0], &bias.vector[0])
            : b.Ops::linear_add_to(h, x, w.matrix[0], &bias.vector[0]);
      return std::vector{h};
    };
    equal(
        "linear_add_to" + what, rows, in,
        [&](Backend& b, const Tensor& x) { return added(b, x, true); },
        [&](Backend& b, const Tensor& x) { return added(b, x, false); });
  }

  // 180 rows of one sequence: three pages, causal, windowed; and the fused append.
  void attention(int window) {
    constexpr int kRows = 180;
    AttendSpec spec = {
        .heads = 6, .kv_heads = 2, .head_dim = 48, .scale = 0.144f, .window = window};
    const Rope rope = plain_rope(48, 10000);
    const auto body = [&](Backend& b, const Tensor& x,
                          int how) {  // 0: no rope, 1: fused, 2: its definition
      const Tensor q = b.columns(x, 0, 288).reshape({kRows, 6, 48});
      const Tensor k = b.columns(x, 288, 96).reshape({kRows, 2, 48}),
                   v = b.columns(x, 384, 96).reshape({kRows, 2, 48});
      if (how == 0) b.append({0, 0}, k, v);
      const Tensor r = how == 0   ? q
                       : how == 1 ? b.rope_append({0, 0}, q, k, v, rope)
                                  : b.Ops::rope_append({0, 0}, q, k, v, rope);
      return std::vector{b.attend({0, 0}, r, spec)};
    };
    for (const float cap : {0.0f, 3.0f}) {
      spec.softcap = cap;
      compare(cat("attend, window ", window, ", cap ", cap), kRows, 480, tolerance_.attention, 4,
              [&](Backend& b, const Tensor& x) { return body(b, x, 0); });
    }
    equal(
        "rope_append", kRows, 480, [&](Backend& b, const Tensor& x) { return body(b, x, 1); },
        [&](Backend& b, const Tensor& x) { return body(b, x, 2); });
  }

  // One sequence of a step: its rows, the positions before them and the page that its table starts
  // with.
  struct Part {
    int32_t rows, start, first_page, span_begin = 0, span_end = 0;
  };

  // Steps in a row on one backend, KV and last samples kept between them; the outputs of all.
  class Run {
   public:
    explicit Run(Backend& b) : b_(b) {}

    void step(const std::vector<Part>& parts, std::span<const float> embeddings, int64_t dim,
              std::span<const RowInput> inputs, const std::function<std::vector<Tensor>()>& body) {
      std::vector<std::vector<PageId>> pages;
      std::vector<PageTable> tables;
      std::vector<Segment> segments;
      std::vector<int32_t> positions;
      std::vector<RowInput> rows(inputs.begin(), inputs.end());
      for (const Part& p : parts) {
        pages.push_back({p.first_page, p.first_page + 1});
        for (int32_t i = 0; i < p.rows; i++) positions.push_back(p.start + i);
      }
      for (const auto& p : pages) tables.emplace_back(p);
      int32_t row = 0;
      for (size_t i = 0; i < parts.size(); i++) {
        const Part& p = parts[i];
        segments.push_back({static_cast<int32_t>(i),
                            row,
                            p.rows,
                            p.start,
                            p.span_begin,
                            p.span_end,
                            {&tables[i], 1}});
        row += p.rows;
      }
      for (int32_t i = 0; inputs.empty() && i < row; i++)
        rows.push_back({RowInput::Kind::kEmbedding, i});
      CHECK(static_cast<int64_t>(embeddings.size()) >= (inputs.empty() ? row * dim : 0));
      Step step;
      step.inputs = rows, step.positions = positions, step.segments = segments,
      step.embeddings = embeddings;
      b_.begin(step);
      for (const Tensor& t : body()) {
        outputs.emplace_back(t.shape.size());
        b_.read(t, outputs.back());
      }
      b_.end();
    }

    std::vector<std::vector<float>> outputs;

   private:
    Backend& b_;
  };

  static std::vector<float> normals(int64_t n) {
    std::mt19937 rng(8);
    std::normal_distribution<float> normal;
    std::vector<float> v(n);
    for (float& x : v) x = normal(rng);
    return v;
  }

  void compare_runs(const std::string& op, const Run& got, const Run& want, double tolerance) {
    for (size_t o = 0; o < got.outputs.size(); o++) {
      for (size_t i = 0; i < got.outputs[o].size(); i++) {
        const double a = got.outputs[o][i], b = want.outputs[o][i];
        if (std::fabs(a - b) <= tolerance * (4 + std::fabs(b))) continue;
        failures_.push_back(
            {op, cat("output ", o, ", element ", i, ": expected ", b, ", found ", a)});
        return;
      }
    }
  }

  // Two sequences of 70 rows; then a step that continues the first by a block and the second by a
  // row, and begins a third, some positions of which all see each other.
  void segments(int window) {
    const AttendSpec spec = {
        .heads = 6, .kv_heads = 2, .head_dim = 48, .scale = 0.144f, .window = window};
    const auto run = [&](Backend& b) {
      open(b);
      const Weights table = matrix(DType::kF32, 1, 480);
      Run r(b);
      const std::vector<float> in = normals(140 * 480);
      const auto body = [&] {
        const Tensor x = b.embed(table.matrix[side(b)]);
        const int64_t n = x.shape.rows();
        b.append({0, 0}, b.columns(x, 288, 96).reshape({n, 2, 48}),
                 b.columns(x, 384, 96).reshape({n, 2, 48}));
        return std::vector{b.attend({0, 0}, b.columns(x, 0, 288).reshape({n, 6, 48}), spec)};
      };
      r.step({{70, 0, 0}, {70, 0, 2}}, in, 480, {}, body);
      r.step({{5, 70, 0}, {1, 70, 2}, {20, 0, 4, 4, 12}}, in, 480, {}, body);
      return r;
    };
    compare_runs(cat("attend, segments, window ", window), run(backend_), run(ref_),
                 tolerance_.attention);
  }

  // Greedy draws with edits and a mask, then a step whose inputs are those draws.
  void samples() {
    constexpr int64_t kVocab = 700;
    const auto run = [&](Backend& b) {
      open(b);
      const Weights logits = matrix(DType::kF32, 1, kVocab),
                    table = matrix(DType::kBF16, kVocab, 96);  // exact on every backend
      Run r(b);
      std::vector<float> drawn;
      const LogitEdit edits[] = {{5, 1.3f, 0}, {17, 1, 9}, {18, 1, -2}};
      std::vector<uint32_t> allowed((kVocab + 31) / 32);
      allowed[3] = 0x80000401, allowed[21] = 1;
      std::vector<Sample> out(3);  // filled when the step ends
      r.step({{1, 0, 0}, {1, 0, 2}, {1, 0, 4}}, normals(3 * kVocab), kVocab, {}, [&] {
        std::vector<SampleRow> rows(3);
        for (int32_t i = 0; i < 3; i++) rows[i].sequence = i;
        rows[1].edits = edits, rows[2].allowed = allowed;
        b.sample(b.embed(logits.matrix[side(b)]), rows, out);
        return std::vector<Tensor>{};
      });
      for (const Sample& s : out) drawn.push_back(static_cast<float>(s.token));
      r.outputs.push_back(drawn);
      const RowInput last[] = {{RowInput::Kind::kLastSample, 2},
                               {RowInput::Kind::kToken, 3},
                               {RowInput::Kind::kLastSample, 0}};
      r.step({{1, 1, 0}, {1, 1, 2}, {1, 1, 4}}, {}, 96, last,
             [&] { return std::vector{b.embed(table.matrix[side(b)])}; });
      return r;
    };
    compare_runs("sample and last samples", run(backend_), run(ref_), 0);
  }

  Backend& backend_;
  Backend& ref_;
  const ConformanceTolerance tolerance_;
  std::vector<ConformanceFailure> failures_;
};

}  // namespace mlxcel
