#include "kernels/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

std::vector<float> random_floats(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

struct Binary {
  const char* name;
  void (*array)(const float*, const float*, float*, int64_t);
  float (*one)(float, float);
};

const Binary kBinary[] = {
    {"add", add_f32, [](float a, float b) { return a + b; }},
    {"mul", mul_f32, [](float a, float b) { return a * b; }},
    {"scale", [](const float* a, const float*, float* y, int64_t n) { scale_f32(a, 0.3f, y, n); },
     [](float a, float) { return 0.3f * a; }},
    {"silu", [](const float* a, const float*, float* y, int64_t n) { silu_f32(a, y, n); },
     [](float a, float) { return silu_tree(a); }},
    {"gelu_tanh", [](const float* a, const float*, float* y, int64_t n) { gelu_tanh_f32(a, y, n); },
     [](float a, float) { return gelu_tanh_tree(a); }},
    {"softcap", [](const float* a, const float*, float* y, int64_t n) { softcap_f32(a, 5, y, n); },
     [](float a, float) { return softcap_tree(a, 5); }},
    {"silu_mul", silu_mul_f32, [](float a, float b) { return silu_tree(a) * b; }},
    {"gelu_tanh_mul", gelu_tanh_mul_f32, [](float a, float b) { return gelu_tanh_tree(a) * b; }},
};

TEST(Elementwise, EqualsItsTreeOnEveryIsa) {
  for_each_isa([](const char* isa) {
    for (const Binary& f : kBinary) {
      for (const int64_t n : {1, 7, 8, 15, 16, 17, 63, 576, 1537}) {
        const std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2);
        std::vector<float> want(n), y(n + 1, 42.0f), in_a = a, in_b = b;
        for (int64_t i = 0; i < n; i++) want[i] = f.one(a[i], b[i]);
        f.array(a.data(), b.data(), y.data(), n);
        EXPECT_EQ(std::memcmp(want.data(), y.data(), n * 4), 0) << isa << " " << f.name << " " << n;
        EXPECT_EQ(y[n], 42) << "wrote past the end";
        f.array(in_a.data(), b.data(), in_a.data(), n);
        EXPECT_EQ(std::memcmp(want.data(), in_a.data(), n * 4), 0) << isa << " " << f.name;
        f.array(a.data(), in_b.data(), in_b.data(), n);
        EXPECT_EQ(std::memcmp(want.data(), in_b.data(), n * 4), 0) << isa << " " << f.name;
      }
    }
  });
}

// exp_f32 errs by 0.8 ulp; its argument's relative error (gelu: 4 roundings) is magnified by the
// argument itself; then an addition and a division round.
TEST(Elementwise, IsWithinItsDerivedErrorOfTheTruth) {
  for (float x = -30; x < 30; x += 0.0137f) {
    const double v = x, e = 0x1p-24;
    const double silu = v / (1 + std::exp(-v));
    EXPECT_NEAR(silu_tree(x), silu, std::fabs(silu) * 4 * e + 1e-37) << x;
    const double u = std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v);
    const double gelu = 0.5 * v * std::erfc(0) * (2 / (1 + std::exp(-2 * u)));
    EXPECT_NEAR(gelu_tanh_tree(x), gelu, std::fabs(gelu) * (4 + 5 * std::fabs(2 * u)) * e + 1e-37)
        << x;
    const double capped = 5 * std::tanh(v / 5);
    EXPECT_NEAR(softcap_tree(x, 5), capped, std::fabs(capped) * 6 * e) << x;
  }
}

// Values of torch.nn.functional.gelu(x, approximate="tanh") and silu, by numpy in double.
TEST(Elementwise, KnownValues) {
  EXPECT_NEAR(gelu_tanh_tree(1), 0.8411919906082768, 1e-7);
  EXPECT_NEAR(gelu_tanh_tree(-1), -0.15880800939172324, 2e-8);
  EXPECT_NEAR(gelu_tanh_tree(3), 2.9963627079, 3e-7);
  EXPECT_NEAR(silu_tree(1), 0.7310585786300049, 1e-7);
  EXPECT_NEAR(silu_tree(-2), -0.2384058440442351, 2e-8);
  EXPECT_EQ(silu_tree(-200), 0);
  EXPECT_EQ(gelu_tanh_tree(-200), 0);
  EXPECT_EQ(gelu_tanh_tree(200), 200);
}

// N03: Gemma 2's caps of scores and of logits, as published.
TEST(Softcap, OfGemma) {
  const float x[] = {10, 50, 100, 1000}, scores[] = {9.86877f, 38.07971f, 48.20138f, 50.0f};
  const float z[] = {10, 30, 100}, logits[] = {9.64538f, 22.84782f, 29.92374f};
  float y[4];
  softcap_f32(x, 50, y, 4);
  for (int i = 0; i < 4; i++) EXPECT_NEAR(y[i], scores[i], 1e-5f) << x[i];
  softcap_f32(z, 30, y, 3);
  for (int i = 0; i < 3; i++) EXPECT_NEAR(y[i], logits[i], 1e-5f) << z[i];
}

}  // namespace
}  // namespace mlxcel
