#include "evidence/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mlxcel {
namespace {

TEST(Statistics, KnownNumbers) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
  // numpy.quantile([1, 2, 3, 4, 10], [0, .1, .25, .9, 1])
  const std::vector<double> v = {10, 2, 3, 1, 4};
  EXPECT_DOUBLE_EQ(quantile(v, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(v, 0.1), 1.4);
  EXPECT_DOUBLE_EQ(quantile(v, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile(v, 0.9), 7.6);
  EXPECT_DOUBLE_EQ(quantile(v, 1), 10);
  // Samples from 50.8 to 55.2 around 53.4 spread by 8.2 %.
  EXPECT_NEAR(spread(std::vector<double>{50.8, 53.4, 55.2}), 0.0824, 5e-5);
  EXPECT_DOUBLE_EQ(spread(std::vector<double>{5, 5, 5}), 0);
}

TEST(Statistics, RatioIsThatOfPairs) {
  const Comparison c = compare({1.10, 1.11, 1.09, 1.10, 1.10}, std::vector<double>{1, 1.01, 0.99});
  EXPECT_DOUBLE_EQ(c.ratio, 1.10);
  EXPECT_DOUBLE_EQ(c.null_ratio, 1);
  EXPECT_NEAR(c.high, 1.01, 2e-3);
  EXPECT_NEAR(c.low * c.high, 1, 1e-12);
  EXPECT_NEAR(c.ratio_low, 1.09, 1e-3);
  EXPECT_NEAR(c.ratio_high, 1.11, 1e-3);
  EXPECT_TRUE(c.resolved);
}

TEST(Statistics, BiasOfTheNullArmIsNoise) {
  // The base differs from itself by 5 % in every round: a difference of 4 % says nothing.
  const std::vector<double> null(20, 1.05);
  EXPECT_FALSE(compare(std::vector<double>(20, 1.04), null).resolved);
  EXPECT_TRUE(compare(std::vector<double>(20, 1.06), null).resolved);
  // Chance alone would leave it nearer to 1 than it is.
  std::vector<double> scattered;
  for (int i = 0; i <= 100; i++) scattered.push_back(1.03 + 0.0004 * i);
  EXPECT_FALSE(compare(std::vector<double>(101, 1.045), scattered).resolved);
}

// Times as a busy two-core machine gives them: 2.5 % of noise, a run in ten slowed by up to 40 %,
// and drift.
struct Machine {
  std::mt19937_64 rng;
  double drift = 1;
  double time(double work) {
    drift *= 1 + 0.01 * std::normal_distribution<double>()(rng);
    const bool disturbed = rng() % 10 == 0;
    const double slow = disturbed ? 1 + 0.4 * std::uniform_real_distribution<double>()(rng) : 1;
    return work * drift * slow * (1 + 0.025 * std::normal_distribution<double>()(rng));
  }
};

int found(double slowdown, int trials, int rounds) {
  int count = 0;
  for (int trial = 0; trial < trials; trial++) {
    Machine m{std::mt19937_64(trial + 1)};
    std::vector<double> pairs, null;
    for (int r = 0; r < rounds; r++) {
      double t[3];
      for (int i = 0; i < 3; i++) {
        const int arm = r % 2 == 0 ? (r / 2 + i) % 3 : (r / 2 + 2 - i) % 3;
        t[arm] = m.time(arm == 1 ? slowdown : 1);
      }
      pairs.push_back(t[1] / t[0]), null.push_back(t[2] / t[0]);
    }
    const Comparison c = compare(pairs, null);
    count += c.resolved && c.ratio > 1;
  }
  return count;
}

TEST(Statistics, FindsThreePercentAndNothingWhereNothingIs) {
  EXPECT_EQ(found(1.03, 20, 150), 20);
  EXPECT_EQ(found(1.00, 20, 150), 0);
  EXPECT_LE(found(1.00, 100, 20), 1);  // also in short runs
}

}  // namespace
}  // namespace mlxcel
