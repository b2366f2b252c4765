#include "base/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mlxcel {
namespace {

// Distance to libm's long double in units of the last place of a double.
double ulps(double got, long double want) {
  const double w = static_cast<double>(want);
  return static_cast<double>(std::fabs(got - want) /
                             (std::nextafter(std::fabs(w), INFINITY) - std::fabs(w)));
}

TEST(Math, ExpAndLogAreWithinTwoUlps) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(-700, 700);
  for (int i = 0; i < 200000; i++) {
    const double x = uniform(rng) * (i % 2 ? 1 : 0.001);
    ASSERT_LT(ulps(exact_exp(x), std::exp(static_cast<long double>(x))), 2) << x;
    const double y =
        std::exp(uniform(rng)) * (i % 3 ? 1 : 0) + (i % 3 ? 0 : 1 + uniform(rng) * 1e-4);
    ASSERT_LT(ulps(exact_log(y), std::log(static_cast<long double>(y))), 2) << y;
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_log(1), 0);
}

TEST(Math, SineAndCosineAreWithinAnUlpOfOne) {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 400000; i++) {
    const double x =
        std::ldexp(static_cast<double>(rng() >> 11), -53 + static_cast<int>(rng() % 28)) *
        (i % 2 ? 1 : -1);
    double s, c;
    exact_sincos(x, &s, &c);
    ASSERT_LT(std::fabs(s - std::sin(static_cast<long double>(x))), 3e-16L) << x;
    ASSERT_LT(std::fabs(c - std::cos(static_cast<long double>(x))), 3e-16L) << x;
  }
}

TEST(Math, PowerOfThetaHasItsDouble) {
  for (int i = 0; i < 64; i++) {
    const double want = std::pow(500000.0, -2.0 * i / 128);
    EXPECT_NEAR(exact_pow(500000.0, -2.0 * i / 128), want, want * 1e-14);
  }
}

}  // namespace
}  // namespace mlxcel
