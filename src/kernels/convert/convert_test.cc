#include "kernels/convert/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

TEST(Convert, AllHalvesEqualTheDefinitionOnEveryIsa) {
  std::vector<uint16_t> x(65536);
  for (int i = 0; i < 65536; i++) x[i] = static_cast<uint16_t>(i);
  for_each_isa([&](const char* isa) {
    std::vector<float> f16(65536), bf16(65536);
    convert_f16_to_f32(x.data(), f16.data(), 65536);
    convert_bf16_to_f32(x.data(), bf16.data(), 65536);
    for (int i = 0; i < 65536; i++) {
      ASSERT_EQ(std::bit_cast<uint32_t>(f16[i]), std::bit_cast<uint32_t>(f16_to_f32(x[i])))
          << isa << " f16 " << i;
      ASSERT_EQ(std::bit_cast<uint32_t>(bf16[i]), std::bit_cast<uint32_t>(bf16_to_f32(x[i])))
          << isa << " bf16 " << i;
    }
  });
}

// Neighbours of every halfway point, NaN, infinities, subnormals, and a sweep of all exponents.
TEST(Convert, RoundsAsTheDefinitionOnEveryIsa) {
  std::vector<uint32_t> bits;
  for (uint64_t b = 0; b < (1ull << 32); b += 4096) {
    for (const uint64_t near : {b, b + 1, b + 4095, b + 2048, b + 2047, b + 2049}) {
      bits.push_back(static_cast<uint32_t>(near));
    }
  }
  const int64_t n = static_cast<int64_t>(bits.size());
  std::vector<float> x(n);
  std::memcpy(x.data(), bits.data(), n * 4);
  for_each_isa([&](const char* isa) {
    std::vector<uint16_t> f16(n), bf16(n);
    convert_f32_to_f16(x.data(), f16.data(), n);
    convert_f32_to_bf16(x.data(), bf16.data(), n);
    for (int64_t i = 0; i < n; i++) {
      ASSERT_EQ(f16[i], f32_to_f16(std::bit_cast<float>(bits[i])))
          << isa << " f16 " << std::hex << bits[i];
      ASSERT_EQ(bf16[i], f32_to_bf16(std::bit_cast<float>(bits[i])))
          << isa << " bf16 " << std::hex << bits[i];
    }
    for (int64_t tail = 0; tail < 40; tail++) {
      std::vector<uint16_t> y(41, 42);
      convert_f32_to_f16(x.data() + 9000, y.data(), tail);
      EXPECT_EQ(y[tail], 42) << "wrote past the end";
      for (int64_t i = 0; i < tail; i++) EXPECT_EQ(y[i], f32_to_f16(x[9000 + i]));
    }
  });
}

}  // namespace
}  // namespace mlxcel
