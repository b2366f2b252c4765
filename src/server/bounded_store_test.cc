#include "server/bounded_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mlxcel::server {
namespace {

using Store = BoundedStore<int>;
using std::chrono::seconds;

const Store::Time kStart{};

TEST(BoundedStoreTest, AFullStoreDropsWhatWasNotUsedForLongest) {
  Store store({3, 100, seconds(10)});
  for (int i = 0; i < 3; i++) store.put(std::to_string(i), "", i, 10, kStart);
  EXPECT_EQ(store.get("0", "", kStart), 0);
  store.put("3", "", 3, 10, kStart);
  EXPECT_EQ(store.size(), 3u);
  EXPECT_EQ(store.get("1", "", kStart), std::nullopt);
  EXPECT_EQ(store.get("0", "", kStart), 0);
  store.put("4", "", 4, 75, kStart);  // 10 + 10 + 75: what was used least goes for its bytes
  EXPECT_EQ(store.get("2", "", kStart), std::nullopt);
  EXPECT_EQ(store.bytes(), 95u);
  EXPECT_TRUE(store.change("4", "", kStart, [](int&) { return 95; }));
  EXPECT_EQ(store.size(), 1u);
  store.put("5", "", 5, 101, kStart);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(BoundedStoreTest, AgeCountsFromTheLastWrite) {
  Store store({3, 100, seconds(10)});
  store.put("a", "", 1, 10, kStart);
  EXPECT_EQ(store.get("a", "", kStart + seconds(9)), 1);
  EXPECT_TRUE(store.change("a", "", kStart + seconds(9), [](int& v) { return v = 2, 20; }));
  EXPECT_EQ(store.get("a", "", kStart + seconds(18)), 2);
  EXPECT_EQ(store.get("a", "", kStart + seconds(19)), std::nullopt);
  EXPECT_EQ(store.bytes(), 0u);
  store.put("b", "", 1, 10, kStart);
  store.put("c", "", 1, 10, kStart + seconds(10));
  EXPECT_EQ(store.size(), 1u);
}

TEST(BoundedStoreTest, AnotherOwnerSeesNothing) {
  Store store({3, 100, seconds(10)});
  store.put("a", "mine", 1, 10, kStart);
  EXPECT_EQ(store.get("a", "theirs", kStart), std::nullopt);
  EXPECT_FALSE(store.change("a", "theirs", kStart, [](int&) { return 1; }));
  EXPECT_FALSE(store.erase("a", "theirs", kStart));
  EXPECT_TRUE(store.erase("a", "mine", kStart));
  EXPECT_FALSE(store.erase("a", "mine", kStart));
  EXPECT_FALSE(store.change("a", "mine", kStart, [](int&) { return 1; }));
  EXPECT_EQ(store.size(), 0u);
}

TEST(BoundedStoreTest, ManyThreads) {
  Store store({16, 1000, seconds(10)});
  std::atomic<int> erased = 0, put = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; i++) {
        const std::string id = std::to_string((i * 7 + t) % 24);
        if (i % 3 == 0) store.put(id, "", i, static_cast<size_t>(i % 90), kStart), put++;
        if (i % 3 == 1) store.get(id, "", kStart);
        if (i % 3 == 2) erased += store.erase(id, "", kStart) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(store.size(), 16u);
  EXPECT_LE(store.bytes(), 1000u);
  EXPECT_LE(erased, put);
}

}  // namespace
}  // namespace mlxcel::server
