// Ops against the reference, golden logits, matmul bits from 1 to 512 rows, the sampler's tree.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/ref/ref.h"
#include "base/cat.h"
#include "conformance.h"
#include "golden_case.h"
#include "gpu_check.h"
#include "kernels/sample/sample_reference.h"
#include "run_tokens.h"

namespace mlxcel {

void check_ops(Report& report) {
  const auto backend = open_backend();
  const auto ref = make_ref_backend();
  // Inputs of products are rounded to bf16 and so are weights of up to 4 bits: 2^-9 each. Of
  // attention: q, k, v and the weights p.
  ConformanceTolerance tolerance;
  tolerance.matmul_inputs = 2 * 0x1p-9, tolerance.attention = 4 * 0x1p-9;
  const auto failures = Conformance(*backend, *ref, tolerance).run();
  for (const auto& f : failures) report.fail("ops", f.op + ": " + f.what);
  if (failures.empty()) report.pass("ops", "every op against the reference, fused = plain");
}

namespace {

double max_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); i++) {
    const double d = std::fabs(static_cast<double>(a[i]) - b[i]);
    most = d <= most ? most : d;  // NaN stays
  }
  return most;
}

int64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t n = 0;
  for (size_t i = 0; i < a.size(); i++) n += std::memcmp(&a[i], &b[i], 4) != 0;
  return n;
}

}  // namespace

// The reference makes the backend's roundings where it makes them, but for softmax weights, which
// the backend rounds page by page. From there on roundings are drawn anew: so the two may lie twice
// as far apart as those roundings move a logit in sum, but most logits much closer.
void check_golden(Report& report) {
  for (const std::string& family : golden_families()) {
    for (const GoldenCase& c : golden_cases(family)) {
      if (const auto known = load_family(c.model, open_backend());
          !known && known.error().code == Code::kUnsupported) {
        report.pass("golden", cat(c.name, ": refused: ", known.error().message));
        continue;
      }
      std::string error;
      const auto run = [&](std::unique_ptr<Backend> backend, int chunk) {
        auto loaded = load_family(c.model, std::move(backend));
        if (!loaded) {
          error = loaded.error().message;
          return std::vector<float>(c.logits.size());
        }
        return *run_tokens(*loaded->family, *loaded->backend, c.ids, chunk);
      };
      const auto exact = run(make_ref_backend(), 150),
                 rounded = run(make_ref_backend({.bf16 = true}), 150);
      const auto whole = run(open_backend(), 150), cut = run(open_backend(), 37),
                 one = run(open_backend(), 1);
      const double effect = max_difference(exact, rounded), most = max_difference(whole, rounded);
      std::vector<double> d(whole.size());
      for (size_t i = 0; i < d.size(); i++)
        d[i] = std::fabs(static_cast<double>(whole[i]) - rounded[i]);
      std::nth_element(d.begin(), d.begin() + static_cast<int64_t>(d.size() / 2), d.end());
      const int64_t differ = differing(whole, cut) + differing(whole, one);
      const std::string what =
          cat(c.name, ": ", most, " from the reference at most, ", d[d.size() / 2],
              " in the middle, where roundings move it by ", effect, "; ", differ,
              " logits differ between chunks of 150, 37 and 1", error.empty() ? "" : "; ", error);
      const bool good = error.empty() && differ == 0 && most <= 2 * effect &&
                        d[d.size() / 2] <= 0.25 * effect &&
                        max_difference(whole, c.logits) <= 3 * effect;
      good ? report.pass("golden", what) : report.fail("golden", what);
    }
  }
}

namespace {

// Rows that are easy, that cancel, that are tiny, and that span many powers of two.
std::vector<float> hard_rows(int64_t rows, int64_t dim, int kind) {
  std::mt19937 rng(kind + 1);
  std::normal_distribution<float> normal;
  std::vector<float> x(rows * dim);
  for (size_t i = 0; i < x.size(); i++) {
    const float v = normal(rng);
    if (kind == 0) x[i] = v;
    if (kind == 1) x[i] = i % 2 ? -x[i - 1] * (1 + 0x1p-7f * std::floor(v)) : v * 1000;
    if (kind == 2) x[i] = v * 0x1p-130f;
    if (kind == 3) x[i] = std::ldexp(v, static_cast<int>(rng() % 80) - 40);
  }
  return x;
}

struct Shape2 {
  int64_t out, in;
  CudaBackend::RandomFormat format;
};

// 512 rows at once, then 1 to 64 at once at shifting places: every output must have the same bits.
void matmul_bits(Report& report, CudaBackend& b, const Shape2& s) {
  const bool four = s.format == CudaBackend::RandomFormat::kAffine4;
  auto w = b.random_matrix(s.out, s.in, s.format, 5), v = b.random_matrix(s.out, s.in, s.format, 6);
  CHECK(w && v);
  CHECK(b.open_kv({}, {}, {.rows = 512, .arena = 512 * (s.in * 2 + s.out * 3 + 64)}));
  for (int kind = 0; kind < (s.out > 20000 ? 1 : 4); kind++) {
    const auto x = hard_rows(512, s.in, kind);
    for (const bool gated : {false, true}) {
      if (gated && (kind > 0 || s.out > 20000)) continue;
      const auto body = [&](Backend& on, const Tensor& t) {
        return gated ? on.gated(t, *w, *v, Activation::kSilu) : on.linear(t, *w, nullptr);
      };
      const auto all = run_rows(b, x, s.in, body);
      int64_t differ = 0, nans = 0;
      for (const float f : all) nans += f != f;
      for (int m = 1; m <= 64; m += s.out > 20000 ? 9 : 1) {
        const int first = m * 7 % (512 - m);
        const auto some = run_rows(b, std::span(x).subspan(first * s.in, m * s.in), s.in, body);
        for (int64_t i = 0; i < m * s.out; i++)
          differ += std::memcmp(&some[i], &all[first * s.out + i], 4) != 0;
      }
      const auto ragged = run_rows(b, std::span(x).subspan(100 * s.in, 130 * s.in), s.in, body);
      for (int64_t i = 0; i < 130 * s.out; i++)
        differ += std::memcmp(&ragged[i], &all[100 * s.out + i], 4) != 0;
      const std::string what = cat(gated ? "gated " : "linear ", four ? "affine4" : "bf16", " [",
                                   s.out, ", ", s.in, "], rows of kind ", kind, ": ", differ,
                                   " outputs differ between 512, 130 and 1 to 64 "
                                   "rows; ",
                                   nans, " NaN");
      differ + nans == 0 ? report.pass("matmul", what) : report.fail("matmul", what);
    }
  }
}

}  // namespace

void check_matmul(Report& report) {
  const auto b = open_backend();
  constexpr auto kFour = CudaBackend::RandomFormat::kAffine4,
                 kSixteen = CudaBackend::RandomFormat::kBF16;
  for (const Shape2& s :
       {Shape2{64, 64, kFour}, Shape2{200, 576, kSixteen}, Shape2{1024, 4096, kFour},
        Shape2{4096, 14336, kFour}, Shape2{14336, 4096, kFour}, Shape2{128256, 4096, kFour},
        Shape2{2048, 8192, kSixteen}})
    matmul_bits(report, *b, s);
}

namespace {

struct Draw {
  float temperature, top_p, min_p;
  int32_t top_k;
  bool edits, mask;
};

SampleResult expected(const std::vector<float>& logits, const SampleRow& r,
                      std::vector<TokenLogprob>& top) {
  SampleArgs a = {};
  std::vector<float> scratch(logits.size());
  a.logits = logits.data(), a.vocab = static_cast<int64_t>(logits.size()),
  a.scratch = scratch.data();
  a.edits = r.edits.data(), a.edit_count = static_cast<int64_t>(r.edits.size());
  a.allowed = r.allowed.empty() ? nullptr : r.allowed.data();
  a.temperature = r.temperature, a.top_k = r.top_k, a.top_p = r.top_p, a.min_p = r.min_p;
  a.seed = r.key.seed, a.position = r.key.position, a.choice = r.key.choice;
  top.resize(r.top_logprobs);
  a.top = top.data(), a.top_count = r.top_logprobs;
  return sample_tree(a);
}

}  // namespace

void check_sampler(Report& report) {
  constexpr int64_t kVocab = 5003;
  constexpr int kRows = 12;
  const auto b = open_backend();
  CHECK(b->open_kv({}, {}, {.rows = kRows, .sequences = kRows, .arena = 1 << 20}));
  const Draw draws[] = {{0, 1, 0, 0, false, false},         {1, 1, 0, 0, false, false},
                        {0.7f, 0.95f, 0, 40, false, false}, {1.3f, 0.5f, 0, 0, true, false},
                        {0.8f, 1, 0.05f, 0, false, true},   {0, 1, 0, 0, true, true},
                        {1, 1e-30f, 0, 0, false, false},    {1, 1, 0, 1, true, true}};
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  int wrong = 0, checked = 0;
  for (const Draw& d : draws) {
    std::vector<float> x(kRows * kVocab);
    for (float& v : x) v = 3 * normal(rng);
    x[11 * kVocab + 77] = NAN;  // fails its row alone
    std::vector<LogitEdit> edits;
    for (int t = 5; t < kVocab; t += 37) edits.push_back({t, 1.3f, t % 2 ? 0.5f : -0.25f});
    std::vector<uint32_t> mask((kVocab + 31) / 32, 0xfff0f0ffu);
    std::vector<SampleRow> rows(kRows);
    for (int i = 0; i < kRows; i++) {
      SampleRow& r = rows[i];
      r.temperature = d.temperature, r.top_k = d.top_k, r.top_p = d.top_p, r.min_p = d.min_p;
      r.key = {rng(), 2, static_cast<uint64_t>(i) << 31}, r.sequence = i, r.top_logprobs = 5;
      if (d.edits) r.edits = edits;
      if (d.mask) r.allowed = mask;
    }
    std::vector<Sample> got(kRows);
    run_rows(*b, x, kVocab, [&](Backend& on, const Tensor& t) {
      on.sample(t, rows, got);
      return on.columns(t, 0, 1);
    });
    for (int i = 0; i < kRows; i++, checked++) {
      std::vector<TokenLogprob> top;
      const std::vector<float> logits(x.begin() + i * kVocab, x.begin() + (i + 1) * kVocab);
      const SampleResult want = expected(logits, rows[i], top);
      bool same = got[i].token == want.token;
      if (want.token >= 0) {
        same = same && std::memcmp(&got[i].logprob, &want.logprob, 4) == 0;
        for (int t = 0; t < 5; t++)
          same = same && got[i].top[t].token == top[t].token &&
                 std::memcmp(&got[i].top[t].logprob, &top[t].logprob, 4) == 0;
      }
      wrong += !same;
    }
  }
  const std::string what = cat(wrong, " of ", checked, " draws differ from kernels/sample's tree");
  wrong == 0 ? report.pass("sampler", what) : report.fail("sampler", what);
}

}  // namespace mlxcel
