#include "cli/kernel_scenarios.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/cat.h"
#include "cli/kernel_buffers.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/formats.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "kernels/sample/sample.h"

namespace mlxcel {
namespace {

using Floats = std::shared_ptr<Copies<float>>;

std::string path(const char* what) { return cat(what, "/", name(current_isa())); }

bool same(const float* a, const float* b, int64_t n) {
  return std::memcmp(a, b, static_cast<size_t>(n) * sizeof(float)) == 0;
}

// ---- fused_norm_rope: row by row while it is in the cache, or op by op over all rows

// h + x, then its norm; `fused`: each row at once. The sum and the norm are in `out`.
void add_norm(const float* h, const float* x, const float* gain, float* out, int64_t rows,
              int64_t dim, bool fused) {
  float* norm = out + rows * dim;
  if (!fused) add_f32(h, x, out, rows * dim);
  for (int64_t r = 0; r < rows; r++) {
    if (fused) add_f32(h + r * dim, x + r * dim, out + r * dim, dim);
    rms_norm({out + r * dim, gain, norm + r * dim, dim, 1e-5f});
  }
}

ScenarioCase add_norm_case(int64_t dim, int64_t rows) {
  const int64_t n = rows * dim;
  const auto arm = [=](bool fused) {
    KernelCase c;
    c.shape = cat("add_rms_norm, ", rows, " x ", dim);
    c.path = path(fused ? "add_rms_norm_by_row" : "add_then_rms_norm");
    c.bytes = 4 * (4 * n + dim), c.rotated = 8 * n;
    c.prepare = [=](int copies) {
      const Floats x = normal_floats(copies, 2 * n), gain = normal_floats(1, dim),
                   out = normal_floats(1, 2 * n);
      return [=](int copy) {
        add_norm(x->at(copy), x->at(copy) + n, gain->at(0), out->at(0), rows, dim, fused);
      };
    };
    return c;
  };
  return {arm(false), arm(true), [=] {
            const Floats x = normal_floats(1, 2 * n), gain = normal_floats(1, dim),
                         one = normal_floats(1, 2 * n), two = normal_floats(1, 2 * n);
            add_norm(x->at(0), x->at(0) + n, gain->at(0), one->at(0), rows, dim, false);
            add_norm(x->at(0), x->at(0) + n, gain->at(0), two->at(0), rows, dim, true);
            return same(one->at(0), two->at(0), 2 * n);
          }};
}

constexpr int64_t kHead = 128, kKvHeads = 8;

// q and k of each row are turned, k and v appended to the page; `fused`: each row at once.
void rope_append(const float* qkv, const float* table, float* out, std::byte* pages, int64_t rows,
                 int64_t heads, bool fused) {
  const int64_t q = heads * kHead, kv = kKvHeads * kHead, row = q + 2 * kv;
  const auto turn = [&](int64_t r, int64_t at, int64_t count) {
    rope_row(
        {qkv + r * row + at, out + r * row + at, table, table + kHead / 2, count, kHead, kHead});
  };
  const auto append = [&](int64_t r) {
    for (int64_t h = 0; h < kKvHeads; h++) {
      append_kv({out + r * row + q + h * kHead, qkv + r * row + q + kv + h * kHead,
                 pages + h * kv_page_bytes(KvType::kF16, kHead, kHead), r, kHead, kHead,
                 KvType::kF16});
    }
  };
  if (fused) {
    for (int64_t r = 0; r < rows; r++) turn(r, q, kKvHeads), append(r), turn(r, 0, heads);
    return;
  }
  for (int64_t r = 0; r < rows; r++) turn(r, 0, heads);
  for (int64_t r = 0; r < rows; r++) turn(r, q, kKvHeads);
  for (int64_t r = 0; r < rows; r++) append(r);
}

ScenarioCase rope_append_case(int64_t dim, int64_t rows) {
  const int64_t heads = dim / kHead, row = dim + 2 * kKvHeads * kHead, n = rows * row;
  const int64_t pages = kKvHeads * kv_page_bytes(KvType::kF16, kHead, kHead);
  const auto arm = [=](bool fused) {
    KernelCase c;
    c.shape = cat("rope_append, ", rows, " x ", dim);
    c.path = path(fused ? "rope_append_by_row" : "rope_then_append");
    c.bytes = 4 * 2 * n + 4 * kKvHeads * kHead * rows, c.rotated = 4 * n;
    c.prepare = [=](int copies) {
      const Floats x = normal_floats(copies, n), table = normal_floats(1, kHead),
                   out = normal_floats(1, n);
      const auto page = std::make_shared<Copies<std::byte>>(1, pages);
      return [=](int copy) {
        rope_append(x->at(copy), table->at(0), out->at(0), page->at(0), rows, heads, fused);
      };
    };
    return c;
  };
  return {arm(false), arm(true), [=] {
            const Floats x = normal_floats(1, n), table = normal_floats(1, kHead),
                         one = normal_floats(1, n), two = normal_floats(1, n);
            Copies<std::byte> a(1, pages), b(1, pages);
            std::copy_n(one->at(0), n, two->at(0));  // what neither writes
            std::fill_n(a.at(0), pages, std::byte{}), std::fill_n(b.at(0), pages, std::byte{});
            rope_append(x->at(0), table->at(0), one->at(0), a.at(0), rows, heads, false);
            rope_append(x->at(0), table->at(0), two->at(0), b.at(0), rows, heads, true);
            return same(one->at(0), two->at(0), n) && std::equal(a.at(0), a.at(0) + pages, b.at(0));
          }};
}

std::vector<ScenarioCase> fused_norm_rope() {
  std::vector<ScenarioCase> all;
  for (const auto make : {add_norm_case, rope_append_case}) {
    for (const int64_t dim : {2048, 4096, 8192}) {
      for (const int64_t rows : {1, 4, 8}) all.push_back(make(dim, rows));
    }
  }
  return all;
}

// ---- page_gather: pages where they are, or copied together first

constexpr int64_t kGroup = 4, kDim = 128;

struct Paged {
  std::shared_ptr<Copies<std::byte>> kv;
  std::vector<int32_t> scattered, in_order;
  std::vector<std::byte> gathered;
  Floats q, out, scratch;
  int32_t low = 0, high = 0;

  Paged(int copies, int64_t depth) {
    const int64_t pages = depth / kAttentionPage, page = kv_page_bytes(KvType::kF16, kDim, kDim);
    kv = std::make_shared<Copies<std::byte>>(copies, pages * page);
    const Floats k = normal_floats(1, 8 * kDim);
    for (int copy = 0; copy < copies; copy++) {
      for (int64_t i = 0; i < depth; i++) {
        append_kv({k->at(0) + i % 8 * kDim, k->at(0) + i % 7 * kDim,
                   kv->at(copy) + i / kAttentionPage * page, i % kAttentionPage, kDim, kDim,
                   KvType::kF16});
      }
    }
    in_order.resize(static_cast<size_t>(pages));
    std::iota(in_order.begin(), in_order.end(), 0);
    scattered = in_order;
    std::shuffle(scattered.begin(), scattered.end(), std::mt19937(1));
    gathered.resize(static_cast<size_t>(pages * page));
    q = normal_floats(1, kGroup * kDim), out = normal_floats(1, kGroup * kDim);
    scratch = normal_floats(1, attend_scratch(kDim, kDim));
    high = static_cast<int32_t>(depth);
  }

  void run(int copy, bool paged) {
    const int64_t page = kv_page_bytes(KvType::kF16, kDim, kDim);
    const std::byte* from = kv->at(copy);
    if (!paged) {
      for (size_t i = 0; i < scattered.size(); i++) {
        std::memcpy(gathered.data() + static_cast<int64_t>(i) * page, from + scattered[i] * page,
                    static_cast<size_t>(page));
      }
    }
    const KvPages p = {paged ? from : gathered.data(),
                       page,
                       paged ? scattered.data() : in_order.data(),
                       kDim,
                       kDim,
                       KvType::kF16};
    attend({p, q->at(0), kGroup * kDim, 1, kGroup, &low, &high, 0.1f, 0, out->at(0), kGroup * kDim,
            scratch->at(0)});
  }
};

std::vector<ScenarioCase> page_gather() {
  std::vector<ScenarioCase> all;
  for (const int64_t depth : {1024, 4096, 16384}) {
    const auto arm = [=](bool paged) {
      KernelCase c;
      c.shape = cat("depth ", depth, ", ", kGroup, " heads of ", kDim);
      c.path = path(paged ? "attention_paged" : "gather_then_attention");
      c.bytes = c.rotated = depth / kAttentionPage * kv_page_bytes(KvType::kF16, kDim, kDim);
      c.prepare = [=](int copies) {
        const auto p = std::make_shared<Paged>(copies, depth);
        return [=](int copy) { p->run(copy, paged); };
      };
      return c;
    };
    all.push_back({arm(false), arm(true), [=] {
                     Paged p(1, depth);
                     p.run(0, false);
                     const std::vector<float> one(p.out->at(0), p.out->at(0) + kGroup * kDim);
                     p.run(0, true);
                     return same(one.data(), p.out->at(0), kGroup * kDim);
                   }});
  }
  return all;
}

// ---- qmm_gemv: one row against codes, or against the same weights as floats

KernelCase gemv(const quant::Format& f, const std::string& shape, int64_t n, int64_t rotated) {
  const bool quantized = group_of(f) > 0;
  const int64_t bytes = quant::packed_bytes(f, n, n);
  KernelCase c;
  c.shape = shape;
  c.path = cat("matmul_", f.name, "/", name(current_isa()), "/", matmul_path(f, quantized, 1));
  c.bytes = bytes, c.rotated = rotated;
  c.prepare = [&f, n, bytes, quantized](int copies) {
    auto w = std::make_shared<Copies<uint8_t>>(copies, bytes + 4096);
    std::mt19937 rng(1);
    for (uint8_t& b : w->all())
      b = static_cast<uint8_t>(rng() >> 24 & 0x2f);  // no NaN, no denormal
    const Floats x = normal_floats(1, n), y = normal_floats(1, n);
    auto q =
        std::make_shared<Copies<uint8_t>>(1, quantized ? quantized_bytes(group_of(f), 1, n) : 64);
    return [=, &f](int copy) {
      if (quantized) quantize_rows({x->at(0), n, n, group_of(f), 0, 1, q->at(0)});
      MatmulArgs a{};
      a.format = &f, a.w = w->at(copy), a.out = n, a.in = n;
      a.x = quantized ? static_cast<const void*>(q->at(0)) : x->at(0);
      a.x_quantized = quantized, a.last_row = 1, a.last_block = quant::blocks(n);
      a.y = y->at(0), a.ldy = n;
      matmul(a);
    };
  };
  return c;
}

std::vector<ScenarioCase> qmm_gemv() {
  std::vector<ScenarioCase> all;
  for (const int64_t n : {2048, 4096}) {
    for (const DType type : {DType::kQ4_0, DType::kQ8_0, DType::kQ4_K}) {
      const quant::Format &f = *quant::find(type), &floats = *quant::find(DType::kF32);
      const std::string shape = cat(n, " x ", n, ", ", f.name, " against f32");
      const int64_t rotated = quant::packed_bytes(f, n, n);
      all.push_back({gemv(floats, shape, n, rotated), gemv(f, shape, n, rotated), {}});
    }
  }
  return all;
}

// ---- gumbel_sampling and rejection_sampling: ours, or by the definition

SampleArgs sample_args(const float* logits, int64_t vocab, uint64_t position) {
  SampleArgs a{};
  a.logits = logits, a.vocab = vocab, a.temperature = 0.8f, a.top_p = 1, a.seed = 42;
  a.position = position;
  return a;
}

// The candidate whose logit over temperature plus noise is largest, of those that `in` holds.
int32_t perturbed_argmax(const SampleArgs& a, const std::vector<bool>& in) {
  int32_t best = -1;
  float most = 0;
  float noise[64];
  for (int64_t first = 0; first < a.vocab; first += 64) {
    sample_noise(a, first, noise);
    for (int64_t i = first; i < std::min(first + 64, a.vocab); i++) {
      if (!in.empty() && !in[static_cast<size_t>(i)]) continue;
      const float v = a.logits[i] / a.temperature + noise[i - first];
      if (best < 0 || v > most) best = static_cast<int32_t>(i), most = v;
    }
  }
  return best;
}

// Top-k and top-p by sorting the whole vocabulary.
std::vector<bool> sorted_filter(const SampleArgs& a) {
  std::vector<int32_t> ids(static_cast<size_t>(a.vocab));
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](int32_t x, int32_t y) {
    return a.logits[x] > a.logits[y] || (a.logits[x] == a.logits[y] && x < y);
  });
  const auto weight = [&](int32_t id) {
    return std::exp(static_cast<double>(a.logits[id]) - static_cast<double>(a.logits[ids[0]]));
  };
  double total = 0, before = 0;  // of all tokens, whatever top-k leaves
  for (const int32_t id : ids) total += weight(id);
  if (a.top_k > 0) ids.resize(static_cast<size_t>(std::min<int64_t>(a.top_k, a.vocab)));
  std::vector<bool> in(static_cast<size_t>(a.vocab), false);
  for (const int32_t id : ids) {
    if (before >= static_cast<double>(a.top_p) * total) break;
    in[static_cast<size_t>(id)] = true;
    before += weight(id);
  }
  return in;
}

ScenarioCase sampling_case(int64_t vocab, int32_t top_k, float top_p) {
  const bool filtered = top_k > 0 || top_p < 1;
  const auto draw = [=](const float* logits, uint64_t position, bool ours) {
    SampleArgs a = sample_args(logits, vocab, position);
    a.top_k = top_k, a.top_p = top_p;
    if (ours) return sample_row(a).token;
    return perturbed_argmax(a, filtered ? sorted_filter(a) : std::vector<bool>());
  };
  const auto arm = [=](bool ours) {
    KernelCase c;
    c.shape = cat("vocab ", vocab, filtered ? cat(", top-k ", top_k, ", top-p ", top_p) : "");
    c.path = path(ours ? "sample" : filtered ? "sort_then_argmax" : "noise_then_argmax");
    c.bytes = c.rotated = 4 * vocab;
    c.prepare = [=](int copies) {
      const Floats x = normal_floats(copies, vocab);
      const auto position = std::make_shared<uint64_t>(0);
      return [=](int copy) {
        volatile int32_t token = draw(x->at(copy), ++*position, ours);
        (void)token;
      };
    };
    return c;
  };
  return {arm(false), arm(true), [=] {
            const Floats x = normal_floats(1, vocab);
            for (uint64_t position = 0; position < 8; position++) {
              if (draw(x->at(0), position, false) != draw(x->at(0), position, true)) return false;
            }
            return true;
          }};
}

std::vector<ScenarioCase> gumbel_sampling() {
  std::vector<ScenarioCase> all;
  for (const int64_t vocab : {32000, 49152, 152064}) all.push_back(sampling_case(vocab, 0, 1));
  return all;
}

std::vector<ScenarioCase> rejection_sampling() {
  std::vector<ScenarioCase> all;
  for (const int64_t vocab : {32000, 152064}) {
    all.push_back(sampling_case(vocab, 40, 1));
    all.push_back(sampling_case(vocab, 0, 0.95f));
    all.push_back(sampling_case(vocab, 40, 0.95f));
  }
  return all;
}

constexpr ScenarioEntry kScenarios[] = {
    {"fused_norm_rope", "row by row against op by op", fused_norm_rope},
    {"page_gather", "pages in place against gathered pages", page_gather},
    {"qmm_gemv", "one row against codes, or against floats", qmm_gemv},
    {"gumbel_sampling", "the sampler without filters against its definition", gumbel_sampling},
    {"rejection_sampling", "the sampler with filters against sorting", rejection_sampling},
};

}  // namespace

std::span<const ScenarioEntry> scenario_entries() { return kScenarios; }

std::function<void()> decode_forward(int64_t cache_bytes) {
  constexpr int64_t kIn = 2048;
  const quant::Format& f = *quant::find(DType::kQ4_0);
  const int64_t row_bytes = quant::packed_bytes(f, 16, kIn) / 16;
  const int64_t out = (2 * cache_bytes / row_bytes + 15) / 16 * 16;
  const auto w = std::make_shared<Copies<uint8_t>>(1, quant::packed_bytes(f, out, kIn) + 4096);
  const Floats x = normal_floats(1, kIn), y = normal_floats(1, out);
  const auto q = std::make_shared<Copies<uint8_t>>(1, quantized_bytes(group_of(f), 1, kIn));
  quantize_rows({x->at(0), kIn, kIn, group_of(f), 0, 1, q->at(0)});
  return [=, &f] {
    MatmulArgs a{};
    a.format = &f, a.w = w->at(0), a.out = out, a.in = kIn, a.x = q->at(0);
    a.x_quantized = true, a.last_row = 1, a.last_block = quant::blocks(out);
    a.y = y->at(0), a.ldy = out;
    matmul(a);
  };
}

}  // namespace mlxcel
