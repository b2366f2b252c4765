#include "kernels/vector_math/vector_math.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

// Every exponent and sign, 512 mantissas each, and the edges.
std::vector<float> all_kinds() {
  std::vector<float> x = {0.0f,        -0.0f,     1.0f, -1.0f, -87.0f,     -87.00001f,
                          88.7228317f, 88.72284f, 0.6f, -0.6f, 0.59999996f};
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 16381) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float infinity : {std::numeric_limits<float>::infinity()}) {
    x.push_back(infinity), x.push_back(-infinity);
  }
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  return x;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

using Scalar = float (*)(float);
using Array = void (*)(const float*, float*, int64_t);

void expect_equal_bits(const std::vector<float>& x, Scalar scalar, Array array) {
  for_each_isa([&](const char* isa) {
    std::vector<float> y(x.size());
    array(x.data(), y.data(), static_cast<int64_t>(x.size()));
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 5; i++) {
      if (!same(y[i], scalar(x[i]))) {
        wrong++;
        ADD_FAILURE() << isa << ": x = " << x[i] << " gives " << y[i] << ", the tree "
                      << scalar(x[i]);
      }
    }
    for (int64_t n = 0; n < 40; n++) {  // tails, in place
      std::vector<float> z(x.begin(), x.begin() + 41);
      z[n] = 42;
      array(z.data(), z.data(), n);
      for (int64_t i = 0; i < n; i++) EXPECT_TRUE(same(z[i], scalar(x[i]))) << isa << " n " << n;
      EXPECT_EQ(z[n], 42) << "wrote past the end";
    }
  });
}

// The largest error in units in the last place of the true value.
double worst_ulp(const std::vector<float>& x, Scalar f, double (*truth)(double)) {
  double worst = 0;
  for (const float v : x) {
    const double t = truth(v);
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(t), -126) - 23);
    worst = std::max(worst, std::fabs(f(v) - t) / ulp);
  }
  return worst;
}

std::vector<float> between(float low, float high, int n = 400000) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> x(n);
  for (float& v : x) v = uniform(rng);
  return x;
}

TEST(VectorMath, EqualsItsTreeOnEveryIsa) {
  const std::vector<float> x = all_kinds();
  expect_equal_bits(x, exp_f32, exp_f32);
  expect_equal_bits(x, sigmoid_f32, sigmoid_f32);
  expect_equal_bits(x, tanh_f32, tanh_f32);
  std::vector<float> positive;
  for (const float v : x) {
    if (v >= 0x1p-126f && v <= std::numeric_limits<float>::max()) positive.push_back(v);
  }
  expect_equal_bits(positive, log_f32, log_f32);
}

TEST(VectorMath, ErrorsAreAsTheHeaderSays) {
  const auto exp = [](double v) { return std::exp(v); };
  EXPECT_LT(worst_ulp(between(-87, 88.7f), exp_f32, exp), 1.1);
  EXPECT_LT(worst_ulp(between(-1, 1), exp_f32, exp), 1.1);
  const auto log = [](double v) { return std::log(v); };
  EXPECT_LT(worst_ulp(between(1e-10f, 4), log_f32, log), 0.9);
  EXPECT_LT(worst_ulp(between(0.7f, 1.42f), log_f32, log), 0.9);
  std::vector<float> wide;
  for (const float v : between(-87, 88)) wide.push_back(std::exp(v));
  EXPECT_LT(worst_ulp(wide, log_f32, log), 0.9);
  const auto tanh = [](double v) { return std::tanh(v); };
  EXPECT_LT(worst_ulp(between(-1, 1), tanh_f32, tanh), 1.6);
  EXPECT_LT(worst_ulp(between(-10, 10), tanh_f32, tanh), 1.6);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  EXPECT_LT(worst_ulp(between(-87, 30), sigmoid_f32, sigmoid), 2.5);
}

TEST(VectorMath, Edges) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_f32(0), 1);
  EXPECT_EQ(exp_f32(-infinity), 0);
  EXPECT_EQ(exp_f32(-88), 0);
  EXPECT_EQ(exp_f32(89), infinity);
  EXPECT_TRUE(std::isfinite(exp_f32(88.7228f)));
  EXPECT_EQ(log_f32(1), 0);
  EXPECT_EQ(tanh_f32(infinity), 1);
  EXPECT_EQ(tanh_f32(-infinity), -1);
  EXPECT_EQ(sigmoid_f32(-infinity), 0);
  EXPECT_EQ(sigmoid_f32(infinity), 1);
  EXPECT_TRUE(std::signbit(tanh_f32(-0.0f)));
}

}  // namespace
}  // namespace mlxcel
