#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace mlxcel {
namespace {

// The definition by arithmetic: a half's value is (-1)^s * 2^(e-25) * (1024 + m), or 2^-24 * m when
// e is 0.
double value_of_f16(uint16_t h) {
  const int e = h >> 10 & 31, m = h & 1023;
  const double v = e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}

TEST(Half, EveryF16HasItsValue) {
  for (int h = 0; h < 0x10000; h++) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if ((h & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isnan(f), (h & 1023) != 0);
      EXPECT_EQ(std::isinf(f), (h & 1023) == 0);
    } else {
      ASSERT_EQ(f, value_of_f16(static_cast<uint16_t>(h))) << h;
      ASSERT_EQ(f32_to_f16(f), h);
    }
  }
}

// A rounded half is the nearest one, and even when two are equally near.
void expect_nearest(float f) {
  const uint16_t h = f32_to_f16(f);
  ASSERT_LT(h & 0x7fff, 0x7c00) << f;
  const double error = std::fabs(value_of_f16(h) - f);
  for (const int step : {-1, 1}) {
    const int other = (h & 0x7fff) + step;
    if (other < 0 || other >= 0x7c00) continue;
    const double there = std::fabs(value_of_f16(static_cast<uint16_t>((h & 0x8000) | other)) - f);
    ASSERT_TRUE(error < there || (error == there && h % 2 == 0)) << f;
  }
}

TEST(Half, RoundsToNearestEven) {
  std::mt19937 rng(1);
  for (int i = 0; i < 200000; i++) {
    const uint32_t exponent = 127 - 27 + rng() % 42;
    const uint32_t bits = (rng() & 0x80000000u) | exponent << 23 |
                          (i % 3 == 0 ? (rng() & 0x7ff) << 12 : rng() & 0x7fffff);
    float f;
    std::memcpy(&f, &bits, 4);
    if (std::fabs(f) < 65504) expect_nearest(f);
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::nextafterf(65520.0f, 0)), 0x7bff);
}

TEST(Half, Bf16RoundsToNearestEven) {
  std::mt19937 rng(2);
  for (int i = 0; i < 200000; i++) {
    const uint32_t bits = rng();
    float f;
    std::memcpy(&f, &bits, 4);
    if (!std::isfinite(f)) continue;
    const float down = bf16_to_f32(static_cast<uint16_t>(bits >> 16));
    const float up = bf16_to_f32(static_cast<uint16_t>((bits >> 16) + 1));
    if (!std::isfinite(up)) continue;
    const double below = std::fabs(static_cast<double>(f) - down),
                 above = std::fabs(static_cast<double>(up) - f);
    const float want = below < above           ? down
                       : above < below         ? up
                       : (bits >> 16) % 2 == 0 ? down
                                               : up;
    ASSERT_EQ(bf16_to_f32(f32_to_bf16(f)), want);
  }
}

}  // namespace
}  // namespace mlxcel
