#include "evidence/kernel_bench.h"

#include <gtest/gtest.h>

#include <set>

namespace mlxcel {
namespace {

TEST(KernelBench, RotationExceedsTheCacheTwice) {
  EXPECT_EQ(rotation_count(32 << 20, 32 << 20), 2);
  EXPECT_EQ(rotation_count(32 << 20, (32 << 20) - 1), 3);
  EXPECT_EQ(rotation_count(32 << 20, 64 << 20), 1);
  EXPECT_EQ(rotation_count(32 << 20, 65 << 20), 1);
  EXPECT_EQ(rotation_count(32 << 20, 4096), 64);
  EXPECT_EQ(rotation_count(32 << 20, 0), 1);
}

TEST(KernelBench, ColdCallsGoRound) {
  std::vector<int> copies;
  int made = 0;
  volatile double x = 1;
  KernelCase c;
  c.rotated = 1000;
  c.prepare = [&](int n) {
    made = n;
    return [&](int copy) {
      copies.push_back(copy);
      for (int i = 0; i < 20000; i++) x = x * 1.0000001;
    };
  };
  KernelTimes t = measure_kernel(c, true, 1500, 3);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(t.rotation, 3);
  EXPECT_EQ(t.seconds.size(), 3u);
  EXPECT_EQ(std::vector<int>(copies.begin(), copies.begin() + 4), (std::vector<int>{0, 1, 2, 0}));
  copies.clear();
  t = measure_kernel(c, false, 1500, 3);
  EXPECT_EQ(t.rotation, 1);
  EXPECT_EQ(std::set<int>(copies.begin(), copies.end()), std::set<int>{0});
}

TEST(KernelBench, PeakIsPlausible) {
  EXPECT_GT(peak_flops(), 1e9);
  EXPECT_LT(peak_flops(), 1e12);
}

TEST(Scenario, PairsAreOfTheSameSampleAndKnowTheirRatio) {
  ScenarioTimes t;
  t.iso_base = {2, 6, 4}, t.iso_arm = {1, 2, 4};
  t.pipe_base = {1, 1, 1}, t.pipe_arm = {2, 4, 1};
  EXPECT_EQ(t.iso_x(), 2);     // of 2, 3, 1
  EXPECT_EQ(t.pipe_x(), 0.5);  // of 1/2, 1/4, 1
}

TEST(Scenario, TwoArmsOfOnePathAreRefused) {
  KernelCase a, b;
  a.path = "sample/avx2", b.path = "sort/avx2";
  EXPECT_TRUE(check_two_paths(a, b));
  b.path = a.path;
  EXPECT_NE(check_two_paths(a, b).error().message.find("found sample/avx2 in both arms"),
            std::string::npos);
}

TEST(Scenario, RunsBothArmsOverAllCopies) {
  std::set<int> copies[2];
  int64_t calls[2] = {}, forwards = 0;
  const auto make = [&](int which) {
    KernelCase c;
    c.bytes = c.rotated = 100;
    c.prepare = [&, which](int) {
      return [&, which](int copy) {
        copies[which].insert(copy), calls[which]++;
        volatile int sink = 0;
        for (int i = 0; i < 2000; i++) sink = i;
        (void)sink;
      };
    };
    return c;
  };
  const auto t = measure_scenario(
      make(0), make(1), [&] { forwards++; }, true, 300, 4);
  EXPECT_EQ(t.rotation, 6);  // ceil(2 * 300 / 100)
  EXPECT_EQ(t.iso_base.size(), 4u);
  EXPECT_EQ(t.pipe_arm.size(), 4u);
  EXPECT_EQ(forwards, 2 * (1 + 4) * 2);
  for (const int which : {0, 1}) EXPECT_EQ(copies[which].size(), 6u);
  EXPECT_EQ(measure_scenario(
                make(0), make(1), [] {}, false, 300, 3)
                .rotation,
            1);
}

}  // namespace
}  // namespace mlxcel
