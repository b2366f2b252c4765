#include "base/threads.h"

#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace mlxcel {
namespace {

TEST(ThreadTeam, RunsEveryThreadOnceForEachJob) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadTeam team(threads);
    std::vector<int> runs(threads);
    for (int job = 0; job < 300; job++) {
      team.run([&](int thread, int n) {
        ASSERT_EQ(n, threads);
        runs[thread]++;
      });
    }
    for (const int r : runs) EXPECT_EQ(r, 300);
  }
}

TEST(ThreadTeam, HandsOutEachItemOnce) {
  ThreadTeam team(3);
  std::vector<int> done(1000);
  team.each(1000, [&](int64_t i) { done[i]++; });
  EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 1000);
  for (const int d : done) EXPECT_EQ(d, 1);
}

TEST(ThreadTeam, WakesAfterParking) {
  ThreadTeam team(2);
  int sum[2] = {};
  for (int i = 0; i < 5; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team.run([&](int thread, int) { sum[thread]++; });
  }
  EXPECT_EQ(sum[0] + sum[1], 10);
}

TEST(ThreadTeam, WorkersKeepDenormals) {
#if defined(__x86_64__)
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);  // flush to zero, denormals are zero: a thread inherits it
#endif
  ThreadTeam team(2);
  float results[2] = {};
  volatile float tiny = 1e-38f;
  team.run([&](int thread, int) { results[thread] = tiny * 0.01f; });
#if defined(__x86_64__)
  _mm_setcsr(mode);
#endif
  EXPECT_GT(results[1], 0);  // thread 0 is the caller's
}

TEST(Processors, TheNarrowestCgroupCounts) {
  const std::string root = ::testing::TempDir() + "threads_test_cgroup";
  std::filesystem::create_directories(root + "/a/b/c");
  const auto limit = [&](const std::string& group, const char* text) {
    std::ofstream(root + group + "/cpu.max") << text;
  };
  const int none = cgroup_quota(root + "/missing", "/a");
  EXPECT_GT(none, 1000);
  limit("", "max 100000"), limit("/a", "350000 100000"), limit("/a/b/c", "max 100000");
  EXPECT_EQ(cgroup_quota(root, ""), none);
  EXPECT_EQ(cgroup_quota(root, "/"), none);
  EXPECT_EQ(cgroup_quota(root, "/a/b/c"), 4);
  limit("/a/b", "100000 100000");
  EXPECT_EQ(cgroup_quota(root, "/a/b/c"), 1);
  EXPECT_EQ(cgroup_quota(root, "/a"), 4);
  std::filesystem::remove_all(root);
}

TEST(Processors, AtLeastOne) { EXPECT_GE(usable_processors(), 1); }

}  // namespace
}  // namespace mlxcel
