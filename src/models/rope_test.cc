// Scaled ropes against published values and plain formulas in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/blocks.h"

namespace mlxcel {
namespace {

Config scaling(const std::string& type, double factor) {
  Config c("config.json");
  c.set("rope_scaling.rope_type", type), c.set("rope_scaling.factor", factor);
  return c;
}

Rope rope(const Config& c, int64_t dims, int64_t context, double theta) {
  auto r = read_rope(c, dims, context, "rope_theta", theta);
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : Rope();
}

// M07: the ratio of each frequency to the unscaled one.
void expect_llama3(int64_t dims, double factor, const std::vector<double>& between, size_t whole) {
  Config c = scaling("llama3", factor);
  c.set("rope_scaling.low_freq_factor", 1.0), c.set("rope_scaling.high_freq_factor", 4.0);
  c.set("rope_scaling.original_max_position_embeddings", int64_t{8192});
  const Rope scaled = rope(c, dims, 131072, 500000),
             plain = plain_rope(static_cast<int>(dims), 500000);
  for (size_t i = 0; i < scaled.inv_freq.size(); i++) {
    const double ratio = scaled.inv_freq[i] / plain.inv_freq[i];
    if (i < whole) {
      EXPECT_EQ(ratio, 1) << i;
    } else if (i >= whole + between.size()) {
      EXPECT_NEAR(ratio, 1 / factor, 1e-15) << i;
    } else if (between[i - whole] > 0) {
      EXPECT_NEAR(ratio, between[i - whole], 5e-7) << i;
    } else {
      EXPECT_TRUE(ratio < 1 && ratio > 1 / factor) << i;
    }
  }
}

TEST(RopeScaling, Llama3OfBothSizes) {
  expect_llama3(64, 32, {0.605573, 0.303743, 0.103448}, 15);
  expect_llama3(128, 8, {0.828168, 0, 0, 0, 0, 0.190211}, 29);
}

// M09: what yarn multiplies cosine and sine with.
TEST(RopeScaling, YarnMagnitude) {
  Config c = scaling("yarn", 40);
  c.set("rope_scaling.original_max_position_embeddings", int64_t{4096});
  EXPECT_NEAR(rope(c, 64, 163840, 10000).magnitude, 1.368888, 1e-6);
  c.set("rope_scaling.mscale", 0.707), c.set("rope_scaling.mscale_all_dim", 0.707);
  EXPECT_EQ(rope(c, 64, 163840, 10000).magnitude, 1.0f);
  c.set("rope_scaling.mscale", 1.0), c.set("rope_scaling.mscale_all_dim", 1.0);
  EXPECT_EQ(rope(c, 64, 163840, 10000).magnitude, 1.0f);
}

TEST(RopeScaling, DynamicGrowsTheBaseBeyondTheOriginalContext) {
  Config c = scaling("dynamic", 2);
  const Rope plain = plain_rope(64, 10000);
  EXPECT_EQ(rope(c, 64, 4096, 10000).inv_freq, plain.inv_freq);  // the context is the original one
  c.set("rope_scaling.original_max_position_embeddings", int64_t{8192});
  EXPECT_EQ(rope(c, 64, 4096, 10000).inv_freq, plain.inv_freq);
  c.set("rope_scaling.original_max_position_embeddings", int64_t{1024});
  const Rope r = rope(c, 64, 4096, 10000);
  const double theta = 10000 * std::pow(2 * 4 - (2 - 1), 64.0 / 62);
  for (int i = 0; i < 32; i++)
    EXPECT_NEAR(r.inv_freq[i] / std::pow(theta, -2.0 * i / 64), 1, 1e-13) << i;
  c.set("rope_scaling.factor", 1e-3);
  EXPECT_TRUE(read_rope(c, 64, 4096, "rope_theta", 10000));
  c.set("rope_scaling.factor", -1.0);
  EXPECT_FALSE(read_rope(c, 64, 4096, "rope_theta", 10000));
}

// N01: angles keep every position apart.
TEST(RopeAngles, AreThoseOfDoubles) {
  const Rope r = plain_rope(64, 10000);
  std::vector<float> c(32), s(32);
  for (const int64_t position : {255, 256, 257, 4095, 15962, 131071}) {
    rope_angles(r, position, c.data(), s.data());
    for (int i = 0; i < 32; i++) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -i / 32.0);
      EXPECT_NEAR(c[i], std::cos(angle), 1e-6) << position << " " << i;
      EXPECT_NEAR(s[i], std::sin(angle), 1e-6) << position << " " << i;
    }
  }
  rope_angles(r, 15962, c.data(), s.data());
  EXPECT_NEAR(c[0], -0.908016, 1e-6);
}

}  // namespace
}  // namespace mlxcel
