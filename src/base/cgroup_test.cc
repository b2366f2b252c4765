#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace mlxcel {
namespace {

class Cgroup : public ::testing::Test {
 protected:
  Cgroup() {
    std::string name = ::testing::TempDir() + "cgroup_test_XXXXXX";
    root_ = mkdtemp(name.data());
    std::filesystem::create_directories(root_ + "/a/b");
    std::filesystem::create_directories(root_ + "/memory");
  }
  ~Cgroup() override { std::filesystem::remove_all(root_); }
  void set(const std::string& file, const std::string& text) {
    std::ofstream(root_ + file) << text;
  }
  int64_t left(const std::string& group) { return cgroup_memory_left(root_, group); }

  std::string root_;
};

TEST_F(Cgroup, NoLimitIsNone) {
  EXPECT_EQ(left("/a/b"), INT64_MAX);
  set("/a/memory.max", "max\n"), set("/a/memory.current", "5\n");
  EXPECT_EQ(left("/a/b"), INT64_MAX);
  EXPECT_EQ(left("/"), INT64_MAX);
  EXPECT_EQ(left(""), INT64_MAX);
}

TEST_F(Cgroup, CachedFilesAreFree) {
  set("/memory.max", "8000\n"), set("/memory.current", "7000\n");
  EXPECT_EQ(left("/"), 1000);
  set("/memory.stat", "anon 1500\nfile 5500\ninactive_file 4000\nactive_file 1200\nslab 3\n");
  EXPECT_EQ(left("/"), 8000 - (7000 - 5200));
}

TEST_F(Cgroup, TheNarrowestCounts) {
  set("/a/memory.max", "900\n"), set("/a/memory.current", "300\n");
  set("/a/b/memory.max", "5000\n"), set("/a/b/memory.current", "100\n");
  EXPECT_EQ(left("/a/b"), 600);
  set("/a/b/memory.current", "4800\n");
  EXPECT_EQ(left("/a/b"), 200);
  set("/a/b/memory.current", "5800\n");  // it may be for a moment
  EXPECT_EQ(left("/a/b"), 0);
}

TEST_F(Cgroup, VersionOne) {
  set("/memory/memory.limit_in_bytes", "4000\n"), set("/memory/memory.usage_in_bytes", "3900\n");
  set("/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 1000\ntotal_active_file 500\n");
  EXPECT_EQ(left(""), 4000 - 2400);
}

}  // namespace
}  // namespace mlxcel
