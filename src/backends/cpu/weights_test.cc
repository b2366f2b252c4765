#include "backends/cpu/weights.h"

#include <gtest/gtest.h>

#include <vector>

namespace mlxcel {
namespace {

TEST(WeightMemory, PutsWeightsSideBySideAndOutlivesItself) {
  std::vector<std::shared_ptr<std::byte>> kept;
  {
    WeightMemory memory;
    for (const int64_t bytes : {100, 64, 3 << 20, int{100 << 20}, 1}) {
      const auto taken = memory.take(bytes);
      ASSERT_TRUE(taken);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(taken->get()) % 64, 0u);
      kept.push_back(*taken);
    }
  }
  EXPECT_EQ(kept[1].get() - kept[0].get(), 128);
  EXPECT_EQ(kept[2].get() - kept[1].get(), 64);
  for (const auto& weight : kept) *weight = std::byte{1};
  EXPECT_EQ(kept[3].get()[(100 << 20) + Buffer::kSlack - 1], std::byte{0});
}

}  // namespace
}  // namespace mlxcel
