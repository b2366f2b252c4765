// Committed hashes of the logits of tiny random models: every machine and every instruction set
// must reproduce them.
//
// The models come from a seed (weights/random.h), so nothing but this file is stored. A hash that
// changes means that an answer changed somewhere: only a deliberate change of a tree may do that,
// and tools/golden/README.md says how.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "backends/tap/tap.h"
#include "kernels/for_each_isa.h"
#include "run_tokens.h"
#include "tiny_model.h"

namespace mlxcel {
namespace {

struct Known {
  RandomFormat format;
  bool float_activations;
  uint64_t hash;
};

const Known kLlama[] = {
    {DType::kF32, false, 0x4cf997380ac92ba8},  {DType::kF16, false, 0xba51f5c09124e20c},
    {DType::kBF16, false, 0x1b44db3ba0b5f908}, {DType::kQ4_0, false, 0x80a4a41da54d403d},
    {DType::kQ4_1, false, 0xd6c417fe910ebc38}, {DType::kQ8_0, false, 0x73e607878691d7f6},
    {DType::kQ4_0, true, 0xaabbae7167e1e81d},  {DType::kQ4_1, true, 0x24c7e7c4fa13b585},
    {DType::kQ8_0, true, 0xfec20688f2344be8},
};

// Of rows of 256, the block of K-quants.
const Known kWide[] = {
    {DType::kQ5_0, false, 0x42a9a2b745783db1},  {DType::kQ5_1, false, 0x75bbf06cf9a1092c},
    {DType::kQ2_K, false, 0xa4e7b6115aec48c1},  {DType::kQ3_K, false, 0x3ebf173334b6b711},
    {DType::kQ4_K, false, 0x41eb7fa632fcf19c},  {DType::kQ5_K, false, 0x67ec8b79ff946101},
    {DType::kQ6_K, false, 0x6851455dcc0f64f8},  {DType::kIQ4_NL, false, 0x6e82c245cd8c290e},
    {DType::kMXFP4, false, 0x197ae3171e9230fb}, {{2, 64}, false, 0x69119a0378f2ead5},
    {{3, 64}, false, 0x33114c1be036c5bb},       {{4, 32}, false, 0xe95db1820146fabb},
    {{4, 64}, false, 0xf07bb7c48d30ad23},       {{5, 128}, false, 0xa780b4b5f7e2062e},
    {{6, 64}, false, 0x2d40b4d46eea0b9f},       {{8, 64}, false, 0x483d559798786609},
    {DType::kQ4_K, true, 0x13809781043af833},   {DType::kQ6_K, true, 0xafe1feac7db2645b},
    {DType::kIQ4_NL, true, 0x8369a58a6334fb3b}, {DType::kMXFP4, true, 0x821a293250790121},
    {{4, 64}, true, 0x83bf742b3406e80e},
};

// Windows, capped scores and logits.
const Known kGemma2[] = {{DType::kQ4_1, false, 0x894cd9f425002175},
                         {DType::kBF16, false, 0x12c94c3d54273de1}};

// A context of several attention spans.
const Known kDeep[] = {{DType::kQ8_0, false, 0x7b826a4dfa049344}};

std::vector<int32_t> tokens(size_t n) {
  std::vector<int32_t> ids(n);
  for (size_t i = 0; i < n; i++) ids[i] = static_cast<int32_t>((i * i * 31 + i * 7 + 3) % 288);
  return ids;
}

void expect_hashes(const Config& config, std::span<const Known> all, size_t n) {
  for (const Known& known : all) {
    auto model = make_tiny_of(config, known.format, 11,
                              {.threads = 2, .float_activations = known.float_activations});
    ASSERT_TRUE(model) << model.error().message;
    for_each_isa([&](const char* isa) {
      const auto logits = run_tokens(*model->family, *model->backend, tokens(n), 50);
      ASSERT_TRUE(logits) << logits.error().message;
      const uint64_t hash = hash_floats(logits->data(), static_cast<int64_t>(logits->size()));
      char text[32];
      std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(hash));
      EXPECT_EQ(hash, known.hash) << isa << ", " << name(known.format.dtype) << ", affine "
                                  << known.format.affine_bits
                                  << (known.float_activations ? ", float activations" : "") << ": "
                                  << text;
      EXPECT_FALSE(std::isnan(logits->back())) << name(known.format.dtype);
    });
  }
}

// 200 tokens: four KV pages, the last one partly filled.
TEST(LogitHash, Llama) { expect_hashes(tiny_config({.kv_heads = 1}), kLlama, 200); }
TEST(LogitHash, EveryFormat) {
  expect_hashes(tiny_config({.dim = 256, .layers = 1, .ffn = 512}), kWide, 80);
}
TEST(LogitHash, Windows) { expect_hashes(tiny_gemma2(), kGemma2, 200); }
TEST(LogitHash, Deep) { expect_hashes(tiny_config({.layers = 1}), kDeep, 2100); }

}  // namespace
}  // namespace mlxcel
