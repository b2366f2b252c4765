#include "kernels/rms_norm/rms_norm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

std::vector<float> random_floats(int64_t n, uint32_t seed, float scale = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng) * scale;
  return x;
}

TEST(RmsNorm, EqualsItsTreeOnEveryIsa) {
  for_each_isa([](const char* isa) {
    for (const int64_t dim : {1, 7, 15, 16, 17, 64, 576, 1000, 4096}) {
      const std::vector<float> x = random_floats(dim, 1), gain = random_floats(dim, 2);
      std::vector<float> want(dim), got(dim + 1, 42.0f);
      rms_norm_tree({x.data(), gain.data(), want.data(), dim, 1e-5f});
      rms_norm({x.data(), gain.data(), got.data(), dim, 1e-5f});
      EXPECT_EQ(std::memcmp(want.data(), got.data(), dim * 4), 0) << isa << " dim " << dim;
      EXPECT_EQ(got[dim], 42.0f) << "wrote past the end";
      std::vector<float> in_place = x;
      rms_norm({in_place.data(), gain.data(), in_place.data(), dim, 1e-5f});
      EXPECT_EQ(std::memcmp(want.data(), in_place.data(), dim * 4), 0)
          << isa << " in place, dim " << dim;
    }
  });
}

// Each lane's chain and the tree round at most dim/16 + 4 times, the rest of the formula 6 times,
// to half an ulp each; the square root halves the relative error of the sum.
TEST(RmsNorm, IsWithinItsDerivedErrorOfTheTruth) {
  for (const int64_t dim : {1, 3, 16, 256, 512, 576, 4096}) {  // N07
    const std::vector<float> x = random_floats(dim, 3, 30), gain = random_floats(dim, 4);
    std::vector<float> y(dim);
    std::vector<double> truth(dim);
    rms_norm({x.data(), gain.data(), y.data(), dim, 1e-5f});
    rms_norm_truth({x.data(), gain.data(), y.data(), dim, 1e-5f}, truth.data());
    const double bound =
        (0.5 * static_cast<double>(dim / 16 + 4) + 6) * std::numeric_limits<float>::epsilon() / 2;
    for (int64_t i = 0; i < dim; i++) EXPECT_NEAR(y[i], truth[i], std::fabs(truth[i]) * bound);
  }
}

TEST(RmsNorm, ShowsNan) {
  std::vector<float> x(64, 1.0f), gain(64, 1.0f), y(64);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  rms_norm({x.data(), gain.data(), y.data(), 64, 1e-5f});
  for (const float v : y) EXPECT_TRUE(std::isnan(v));
}

}  // namespace
}  // namespace mlxcel
