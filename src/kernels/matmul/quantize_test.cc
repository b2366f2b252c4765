#include "kernels/matmul/quantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kRows = 11, kIn = 512;

// Rows of every kind: normal, huge, tiny, denormal, zero, halves (ties), one NaN, one infinity.
std::vector<float> rows() {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kIn);
  const float scale[kRows] = {1, 1e-3f, 3e38f / 6, 1e-30f, 0x1p-101f, 1e-40f, 0, 1, 1, 1, 1};
  for (int64_t m = 0; m < kRows; m++) {
    for (int64_t k = 0; k < kIn; k++) x[m * kIn + k] = normal(rng) * scale[m];
  }
  for (int64_t k = 0; k < kIn; k++) {
    x[7 * kIn + k] = k % 32 == 0 ? 127.0f : static_cast<float>(k % 32) + 0.5f;
  }
  x[8 * kIn + 40] = kNan;
  x[9 * kIn + 300] = -kInf;
  for (int64_t k = 0; k < 256; k++) x[10 * kIn + k] = k == 77 ? 0x1p-100f : 0;
  return x;
}

template <int kGroup>
void expect_tree() {
  const std::vector<float> x = rows();
  constexpr int64_t kGroups = kIn / kGroup;
  std::vector<Tile<kGroup>> want(3 * kGroups), got(3 * kGroups);
  ASSERT_EQ(quantized_bytes(kGroup, kRows, kIn),
            static_cast<int64_t>(3 * kGroups * sizeof want[0]));
  std::memset(want.data(), 7, want.size() * sizeof want[0]);
  for (int64_t m = 0; m < kRows; m++) {
    for (int64_t g = 0; g < kGroups; g++) {
      quantize_group_tree(&x[m * kIn + g * kGroup], static_cast<int>(m % 4),
                          &want[m / 4 * kGroups + g]);
    }
  }
  for_each_isa([&](const char* isa) {
    std::memset(got.data(), 7, got.size() * sizeof got[0]);
    quantize_rows({x.data(), kIn, kIn, kGroup, 4, kRows, got.data()});
    quantize_rows({x.data(), kIn, kIn, kGroup, 0, 4, got.data()});
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof got[0]), 0) << isa;
  });
}

TEST(QuantizeRows, EqualsItsTreeOnEveryIsa) {
  expect_tree<32>();
  expect_tree<256>();
}

TEST(QuantizeRows, RoundsToHalfAStepAndShowsWhatIsNotFinite) {
  const std::vector<float> x = rows();
  std::vector<Tile<32>> tiles(3 * 16);
  quantize_rows({x.data(), kIn, kIn, 32, 0, kRows, tiles.data()});
  for (int64_t m = 0; m < kRows; m++) {
    for (int64_t g = 0; g < 16; g++) {
      const Tile<32>& t = tiles[m / 4 * 16 + g];
      const int r = static_cast<int>(m % 4);
      const bool bad = (m == 8 && g == 1) || (m == 9 && g == 9);
      EXPECT_EQ(std::isnan(t.scale[r]), bad);
      EXPECT_EQ(std::isnan(t.sum[r]), bad);
      if (bad) continue;
      float amax = 0;
      for (int k = 0; k < 32; k++) amax = std::max(amax, std::fabs(x[m * kIn + g * 32 + k]));
      // Half a step, and the rounding of 127 / amax, the product and the scale.
      const double step = amax < 0x1p-100f ? 0x1p-99 : static_cast<double>(t.scale[r]);
      for (int k = 0; k < 32; k++) {
        EXPECT_NE(t.x[r][k], -128);
        EXPECT_NEAR(static_cast<double>(t.scale[r]) * t.x[r][k], x[m * kIn + g * 32 + k],
                    step * (0.5 + 127 * 4 * 0x1p-24));
      }
    }
  }
}

}  // namespace
}  // namespace mlxcel
