#include "cli/kernel_cases.h"

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/cat.h"
#include "base/half.h"
#include "cli/kernel_buffers.h"
#include "kernels/attention/attention.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "kernels/route/route.h"
#include "kernels/sample/sample.h"
#include "kernels/vector_math/vector_math.h"

namespace mlxcel {
namespace {

std::string path(const char* kernel) { return cat(kernel, "/", name(current_isa())); }

std::vector<KernelCase> rms_norm_cases() {
  std::vector<KernelCase> all;
  for (const int64_t dim : {576, 2048, 4096, 8192}) {
    all.push_back({cat("dim ", dim), path("rms_norm"), 12 * dim, 8 * dim,
                   4 * static_cast<double>(dim), [dim](int copies) {
                     auto x = normal_floats(copies, 2 * dim);
                     auto y = normal_floats(1, dim);
                     return [=](int copy) {
                       rms_norm({x->at(copy), x->at(copy) + dim, y->at(0), dim, 1e-5f});
                     };
                   }});
  }
  return all;
}

KernelCase unary(const char* what, void (*f)(const float*, float*, int64_t), int64_t n) {
  return {cat(what, ", ", n), path(what), 8 * n, 4 * n, static_cast<double>(n), [f, n](int copies) {
            auto x = normal_floats(copies, n);
            auto y = normal_floats(1, n);
            return [=](int copy) { f(x->at(copy), y->at(0), n); };
          }};
}

KernelCase binary(const char* what, void (*f)(const float*, const float*, float*, int64_t),
                  int64_t n) {
  return {
      cat(what, ", ", n), path(what), 12 * n, 8 * n, static_cast<double>(n), [f, n](int copies) {
        auto x = normal_floats(copies, 2 * n);
        auto y = normal_floats(1, n);
        return [=](int copy) { f(x->at(copy), x->at(copy) + n, y->at(0), n); };
      }};
}

std::vector<KernelCase> elementwise_cases() {
  return {binary("add", add_f32, 4096), binary("mul", mul_f32, 4096),
          binary("silu_mul", silu_mul_f32, 14336), binary("gelu_tanh_mul", gelu_tanh_mul_f32, 8192),
          unary("silu", silu_f32, 14336)};
}

std::vector<KernelCase> vector_math_cases() {
  void (*const exp_all)(const float*, float*, int64_t) = exp_f32;
  void (*const tanh_all)(const float*, float*, int64_t) = tanh_f32;
  void (*const sigmoid_all)(const float*, float*, int64_t) = sigmoid_f32;
  return {unary("exp", exp_all, 8192), unary("tanh", tanh_all, 8192),
          unary("sigmoid", sigmoid_all, 8192)};
}

constexpr int64_t kN = 1 << 16;  // numbers to convert

std::vector<KernelCase> convert_cases() {
  std::vector<KernelCase> all;
  all.push_back({cat("f32 to f16, ", kN), path("convert"), 6 * kN, 4 * kN, 0, [](int copies) {
                   auto x = normal_floats(copies, kN);
                   auto y = std::make_shared<Copies<uint16_t>>(1, kN);
                   return [=](int copy) { convert_f32_to_f16(x->at(copy), y->at(0), kN); };
                 }});
  all.push_back({cat("f16 to f32, ", kN), path("convert"), 6 * kN, 2 * kN, 0, [](int copies) {
                   auto x = std::make_shared<Copies<uint16_t>>(copies, kN);
                   auto y = normal_floats(1, kN);
                   return [=](int copy) { convert_f16_to_f32(x->at(copy), y->at(0), kN); };
                 }});
  return all;
}

std::vector<KernelCase> rope_cases() {
  std::vector<KernelCase> all;
  for (const auto& [heads, dim] : {std::pair<int64_t, int64_t>{9, 64}, {32, 128}}) {
    const int64_t n = heads * dim;
    all.push_back({cat(heads, " heads of ", dim), path("rope"), 8 * n + 4 * dim, 4 * n,
                   3 * static_cast<double>(n), [heads = heads, dim = dim, n](int copies) {
                     auto x = normal_floats(copies, n);
                     auto y = normal_floats(1, n);
                     auto table = normal_floats(1, dim);
                     return [=](int copy) {
                       rope_row({x->at(copy), y->at(0), table->at(0), table->at(0) + dim / 2, heads,
                                 dim, dim});
                     };
                   }});
  }
  return all;
}

std::vector<KernelCase> route_cases() {
  std::vector<KernelCase> all;
  for (const auto& [experts, used] : {std::pair<int64_t, int>{64, 4}, {128, 8}}) {
    all.push_back({cat(used, " of ", experts, " experts"), "route/plain", 4 * experts, 4 * experts,
                   2 * static_cast<double>(experts), [experts = experts, used = used](int copies) {
                     auto logits = normal_floats(copies, experts);
                     auto p = normal_floats(1, used);
                     auto ids = std::make_shared<std::vector<int32_t>>(used);
                     return [=](int copy) {
                       route_row({logits->at(copy), experts, used, true, ids->data(), p->at(0)});
                     };
                   }});
  }
  return all;
}

std::vector<KernelCase> sample_cases() {
  std::vector<KernelCase> all;
  for (const int64_t vocab : {49152, 151936}) {
    for (const float temperature : {0.0f, 0.8f}) {
      all.push_back({cat("vocab ", vocab, ", temperature ", temperature), path("sample"), 4 * vocab,
                     4 * vocab, 0, [vocab, temperature](int copies) {
                       auto x = normal_floats(copies, vocab);
                       auto args = std::make_shared<SampleArgs>();
                       args->vocab = vocab, args->temperature = temperature, args->top_p = 1;
                       args->seed = 42;
                       return [=](int copy) {
                         args->logits = x->at(copy), args->position++;
                         volatile int32_t token = sample_row(*args).token;
                         (void)token;
                       };
                     }});
    }
  }
  return all;
}

KernelCase matmul_case(const quant::Format& f, int64_t rows, int64_t in, int64_t out) {
  const bool quantized = group_of(f) > 0;
  const int64_t bytes = quant::packed_bytes(f, out, in);
  KernelCase c;
  c.shape = cat(rows, rows == 1 ? " row, " : " rows, ", in, " -> ", out, ", ", f.name);
  c.path = cat("matmul/", name(current_isa()), "/", matmul_path(f, quantized, rows));
  c.bytes = bytes + 4 * rows * (in + out), c.rotated = bytes;
  c.flops = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  c.prepare = [&f, rows, in, out, quantized, bytes](int copies) {
    auto w = std::make_shared<Copies<uint8_t>>(copies, bytes + 4096);
    std::mt19937 rng(1);
    for (uint8_t& b : w->all())
      b = static_cast<uint8_t>(rng() >> 24 & 0x2f);  // no NaN, no denormal
    auto x = normal_floats(1, rows * in);
    auto y = normal_floats(1, rows * out);
    auto q = std::make_shared<Copies<uint8_t>>(
        1, quantized ? quantized_bytes(group_of(f), rows, in) : 64);
    if (quantized) quantize_rows({x->at(0), in, in, group_of(f), 0, rows, q->at(0)});
    return [=, &f](int copy) {
      MatmulArgs a{};
      a.format = &f, a.w = w->at(copy), a.out = out, a.in = in;
      a.x = quantized ? static_cast<const void*>(q->at(0)) : x->at(0);
      a.x_quantized = quantized, a.last_row = rows, a.last_block = quant::blocks(out);
      a.y = y->at(0), a.ldy = out;
      matmul(a);
    };
  };
  return c;
}

std::vector<KernelCase> matmul_cases() {
  std::vector<KernelCase> all;
  for (const quant::Format& f : quant::kFormats) {
    for (const int64_t rows : {1, 8, 64}) all.push_back(matmul_case(f, rows, 2048, 2048));
  }
  return all;
}

constexpr int64_t kGroup = 3, kDim = 64;  // heads of a KV head, and their size

KernelCase attention_case(KvType type, int64_t depth) {
  const int64_t pages = depth / kAttentionPage, page = kv_page_bytes(type, kDim, kDim);
  KernelCase c;
  c.shape = cat("1 row, ", kGroup, " heads of ", kDim, " on one KV head, ", name(type), ", depth ",
                depth);
  c.path = path("attention"), c.bytes = c.rotated = pages * page;
  c.flops = 4.0 * static_cast<double>(depth * kGroup * kDim);
  c.prepare = [=](int copies) {
    auto kv = std::make_shared<Copies<std::byte>>(copies, pages * page);
    const auto k = normal_floats(1, kDim);
    for (int copy = 0; copy < copies; copy++) {
      for (int64_t i = 0; i < depth; i++) {
        append_kv({k->at(0), k->at(0), kv->at(copy) + i / kAttentionPage * page, i % kAttentionPage,
                   kDim, kDim, type});
      }
    }
    auto q = normal_floats(1, 2 * kGroup * kDim);
    auto scratch = normal_floats(1, attend_scratch(kDim, kDim));
    auto ids = std::make_shared<std::vector<int32_t>>();
    for (int64_t i = 0; i < pages; i++) ids->push_back(static_cast<int32_t>(i));
    auto range = std::make_shared<std::pair<int32_t, int32_t>>(0, static_cast<int32_t>(depth));
    return [=](int copy) {
      const KvPages p = {kv->at(copy), page, ids->data(), kDim, kDim, type};
      attend({p, q->at(0), kGroup * kDim, 1, kGroup, &range->first, &range->second, 0.125f, 0,
              q->at(0) + kGroup * kDim, kGroup * kDim, scratch->at(0)});
    };
  };
  return c;
}

std::vector<KernelCase> attention_cases() {
  std::vector<KernelCase> all;
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kInt8}) {
    for (const int64_t depth : {512, 4096}) all.push_back(attention_case(type, depth));
  }
  return all;
}

constexpr KernelEntry kEntries[] = {
    {"attention", attention_cases},
    {"convert", convert_cases},
    {"elementwise", elementwise_cases},
    {"matmul", matmul_cases},
    {"rms_norm", rms_norm_cases},
    {"rope", rope_cases},
    {"route", route_cases},
    {"sample", sample_cases},
    {"vector_math", vector_math_cases},
};

}  // namespace

std::span<const KernelEntry> kernel_entries() { return kEntries; }

}  // namespace mlxcel
