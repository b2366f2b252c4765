#include "base/numa.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "base/buffer.h"
#include "base/threads.h"

namespace mlxcel {
namespace {

// A made-up /sys/devices/system/node.
std::string make_nodes(const std::vector<std::pair<std::string, std::string>>& lists) {
  const std::string root = ::testing::TempDir() + "numa_test_node";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root);
  std::ofstream(root + "/online") << "0-1\n";
  std::filesystem::create_directories(root + "/power");
  for (const auto& [name, list] : lists) {
    std::filesystem::create_directories(root + "/" + name);
    std::ofstream(root + "/" + name + "/cpulist") << list << "\n";
  }
  return root;
}

TEST(Numa, ReadsNodesInOrderOfTheirIds) {
  const std::string root = make_nodes({{"node10", "6-7"}, {"node2", "0-3,8"}, {"node1", ""}});
  const auto nodes = numa_nodes(root, {0, 1, 2, 3, 6, 7, 8});
  ASSERT_EQ(nodes.size(), 2u);  // node1 has memory alone
  EXPECT_EQ(nodes[0].id, 2);
  EXPECT_EQ(nodes[0].processors, (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(nodes[1].id, 10);
  EXPECT_EQ(nodes[1].processors, (std::vector<int>{6, 7}));
}

TEST(Numa, LeavesOutProcessorsThatAffinityForbids) {
  const std::string root = make_nodes({{"node0", "0-1"}, {"node1", "2-3"}, {"node2", "4"}});
  const auto nodes = numa_nodes(root, {1, 3});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].processors, std::vector<int>{1});
  EXPECT_EQ(nodes[1].processors, std::vector<int>{3});
}

TEST(Numa, SurvivesListsThatMakeNoSense) {
  const std::string root = make_nodes({{"node0", "x"}, {"node1", "3-1"}, {"node2", "0-99999999"}});
  EXPECT_TRUE(numa_nodes(root, {0, 1, 2, 3}).empty());
  EXPECT_TRUE(numa_nodes(root + "/missing", {0}).empty());
}

TEST(Numa, DealsThreadsInProportionAndTogether) {
  const std::vector<NumaNode> nodes = {{0, {0, 1, 2, 3}}, {1, {4, 5}}};
  EXPECT_EQ(deal_threads(nodes, 6), (std::vector<int>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(deal_threads(nodes, 3), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(deal_threads(nodes, 12), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(deal_threads(nodes, 1), std::vector<int>{0});
  EXPECT_TRUE(deal_threads({}, 4).empty());
}

std::vector<int> runs_on() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> all;
  for (int p = 0; p < CPU_SETSIZE; p++) {
    if (CPU_ISSET(p, &set)) all.push_back(p);
  }
  return all;
}

// With as many made-up nodes as there are processors: one each.
TEST(Numa, WorkersStayOnTheirNodesAndTheCallerIsLeftAlone) {
  const std::vector<int> own = runs_on();
  std::vector<NumaNode> nodes;
  for (const int p : own) nodes.push_back({p, {p}});
  const auto threads = static_cast<int>(own.size());
  std::vector<std::vector<int>> seen(own.size());
  {
    ThreadTeam team(threads, nodes);
    EXPECT_EQ(team.nodes().size(), own.size());
    team.run([&](int thread, int) { seen[thread] = runs_on(); });
  }
  for (int t = 1; t < threads; t++) EXPECT_EQ(seen[t], nodes[t].processors);
  EXPECT_EQ(runs_on(), own);
}

TEST(Numa, InterleavedMemoryCanBeUsed) {
  auto buffer = Buffer::make(4 << 20);
  ASSERT_TRUE(buffer);
  interleave(buffer->data(), buffer->size(), {{0, {0}}});  // a container may refuse it
  buffer->data()[buffer->size() - 1] = std::byte{1};
  EXPECT_EQ(buffer->data()[0], std::byte{0});
}

}  // namespace
}  // namespace mlxcel
