// Logits of tiny checkpoints at every position against mlx-lm's (tests/golden/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "golden_case.h"
#include "models/registry.h"
#include "run_tokens.h"

namespace mlxcel {
namespace {

double max_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); i++)
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
  return most;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ReferenceEqualsTheOracle) {
  for (const GoldenCase& c : golden_cases(GetParam())) {
    auto loaded = load_family(c.model, make_ref_backend());
    ASSERT_TRUE(loaded) << c.name << ": " << loaded.error().message;
    const auto logits = run_tokens(*loaded->family, *loaded->backend, c.ids, 37);
    ASSERT_TRUE(logits) << logits.error().message;
    ASSERT_EQ(logits->size(), c.logits.size());
    // The oracle's own distance from doubles; three times that, since where it takes its angles in
    // f32 for doubles too, that distance does not show them; and the rounding of both copies to
    // f32.
    EXPECT_LE(max_difference(*logits, c.logits), 3 * c.oracle_error + c.max_abs_logit * 0x1p-23)
        << c.name;
  }
}

std::vector<float> run(const GoldenCase& c, std::unique_ptr<Backend> backend, int chunk) {
  auto loaded = load_family(c.model, std::move(backend));
  EXPECT_TRUE(loaded) << c.name << ": " << loaded.error().message;
  auto logits = run_tokens(*loaded->family, *loaded->backend, c.ids, chunk);
  EXPECT_TRUE(logits) << logits.error().message;
  return *logits;
}

double median_difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> d(a.size());
  for (size_t i = 0; i < a.size(); i++) d[i] = std::fabs(static_cast<double>(a[i]) - b[i]);
  std::nth_element(d.begin(), d.begin() + static_cast<int64_t>(d.size() / 2), d.end());
  return d[d.size() / 2];
}

// The CPU rounds keys and values to f16, and inputs of quantized matrices to int8. The reference
// makes the same roundings in the same places, so what is left is f32 rounding. Where that pushes a
// value over a rounding's edge, all later roundings of that row are drawn anew: so the two may lie
// as far apart as `effect`, what the roundings do together, but most logits must be much closer. A
// wrong branch changes logits by units, not by roundings.
void expect_cpu_equals_reference(const GoldenCase& c, bool float_activations) {
  auto cpu = make_cpu_backend({.threads = 2, .float_activations = float_activations});
  ASSERT_TRUE(cpu) << cpu.error().message;
  const auto exact = run(c, make_ref_backend(), 150);
  const auto rounded =
      run(c, make_ref_backend({.kv_f16 = true, .act_int8 = !float_activations}), 150);
  const auto logits = run(c, std::move(*cpu), 37);
  const double effect = max_difference(exact, rounded);
  EXPECT_LE(max_difference(logits, rounded), effect) << c.name;
  EXPECT_LE(median_difference(logits, rounded), 0.1 * effect) << c.name;
  EXPECT_LE(max_difference(logits, c.logits), 2 * effect) << c.name;
}

TEST_P(Golden, CpuWithFloatActivationsEqualsTheReference) {
  for (const GoldenCase& c : golden_cases(GetParam())) expect_cpu_equals_reference(c, true);
}

TEST_P(Golden, CpuWithInt8ActivationsEqualsTheReference) {
  for (const GoldenCase& c : golden_cases(GetParam())) expect_cpu_equals_reference(c, false);
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(golden_families()),
                         [](const auto& family) { return family.param; });

// A family without goldens is a family without a test.
TEST(Families, EachHasGoldens) {
  for (const FamilyEntry& entry : families()) {
    const std::string type = entry.model_type;
    const std::string folder = type == "gemma3_text" ? "gemma3"
                               : type == "mistral"   ? "llama"
                                                     : type;
    EXPECT_FALSE(golden_cases(folder).empty()) << type;
  }
}

}  // namespace
}  // namespace mlxcel
