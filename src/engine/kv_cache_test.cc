// Pages, tables and the prefix tree without an engine: sharing, copying, cutting back, eviction.
#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include "engine/page_model_testing.h"

namespace mlxcel::testing {
namespace {

std::vector<int32_t> text(int n, int seed) {
  std::vector<int32_t> t(n);
  for (int i = 0; i < n; i++) t[i] = (i * 31 + seed * (i > 70 ? 7 : 0)) % 1000;
  return t;
}

class KvCacheTest : public ::testing::Test {
 protected:
  void open(std::vector<int32_t> windows, int32_t pages, int32_t budget) {
    family_ = std::make_unique<PageFamily>(1000, 4096, windows);
    const auto& groups = family_->facts().kv_groups;
    const std::vector<int32_t> counts(groups.size(), pages);
    ASSERT_TRUE(backend_.open_kv(groups, counts, {}));
    kv_ = std::make_unique<KvCache>(groups, counts, budget, 3, &backend_);
  }
  bool start(KvTables& t, std::span<const int32_t> tokens) {
    return kv_->attach(t, "", tokens, static_cast<int32_t>(tokens.size()), true, {});
  }
  void fill(KvTables& t, const std::vector<int32_t>& tokens) {
    const int32_t rows = static_cast<int32_t>(tokens.size()) - t.positions;
    ASSERT_TRUE(kv_->grow(t, static_cast<int32_t>(tokens.size())));
    kv_->advance(t, tokens, rows);
  }
  void expect_sound(std::vector<const KvTables*> all) {
    const Status s = kv_->check(all);
    EXPECT_TRUE(s) << s.error().message;
  }

  PageBackend backend_;
  std::unique_ptr<PageFamily> family_;
  std::unique_ptr<KvCache> kv_;
};

TEST_F(KvCacheTest, EqualTextsShareTheirPages) {
  open({0}, 20, 20);
  KvTables a, b, c;
  const auto t = text(200, 0);
  ASSERT_TRUE(start(a, t));
  ASSERT_TRUE(start(b, t));  // nothing known yet
  EXPECT_EQ(b.positions, 0);
  fill(a, t);
  fill(b, t);  // the tree has a's pages: b gives its own back
  EXPECT_EQ(a.pages[0][2], b.pages[0][2]);
  EXPECT_NE(a.pages[0][3], b.pages[0][3]);  // not full
  EXPECT_EQ(kv_->pool(0).free(), 20 - 5);
  ASSERT_TRUE(start(c, t));
  EXPECT_EQ(c.positions, 192);
  expect_sound({&a, &b, &c});
  for (KvTables* s : {&a, &b, &c}) kv_->release(*s);
  EXPECT_EQ(kv_->pool(0).idle(), 3);
  EXPECT_EQ(kv_->pool(0).free(), 17);
  expect_sound({});
}

TEST_F(KvCacheTest, CutBackToAnyLength) {
  for (const auto& windows : {std::vector<int32_t>{0}, {0, 30}, {65}}) {
    for (int32_t length : {130, 192, 200}) {
      for (int32_t cut = 1; cut <= kMaxRollback && cut < length; cut++) {
        open(windows, 20, 20);
        KvTables a, b;
        auto t = text(length, 0);
        ASSERT_TRUE(start(a, t));
        fill(a, t);
        ASSERT_TRUE(kv_->truncate(a, length - cut));
        EXPECT_EQ(a.positions, length - cut);
        expect_sound({&a});
        t.resize(length - cut);
        for (int i = 0; i < 80; i++) t.push_back(700 + i);  // another end
        fill(a, t);
        expect_sound({&a});
        ASSERT_TRUE(start(b, t));
        EXPECT_GE(b.positions, (length - cut + 80) / 64 * 64 - (windows[0] > 0 ? 64 : 0));
        kv_->release(a);
        kv_->release(b);
        expect_sound({});
      }
    }
  }
}

TEST_F(KvCacheTest, ACutPageOfOthersIsCopied) {
  open({0}, 4, 4);
  KvTables a;
  auto t = text(128, 0);
  ASSERT_TRUE(start(a, t));
  fill(a, t);
  const PageId shared = a.pages[0][1];
  backend_.copies = 0;
  ASSERT_TRUE(kv_->truncate(a, 100));
  EXPECT_EQ(backend_.copies, 1);
  EXPECT_NE(a.pages[0][1], shared);
  EXPECT_TRUE(kv_->pool(0).cached(shared));
  expect_sound({&a});
}

TEST_F(KvCacheTest, TheOldestGoesFirst) {
  open({0}, 6, 6);
  KvTables s;
  for (int i = 0; i < 3; i++) {  // three texts of two pages; the first page is common
    const auto t = text(128, i + 1);
    ASSERT_TRUE(start(s, t));
    fill(s, t);
    kv_->release(s);
  }
  EXPECT_EQ(kv_->pool(0).idle(), 4);
  ASSERT_TRUE(start(s, text(128, 1)));  // used again: now the second text is oldest
  kv_->release(s);
  KvTables big;
  ASSERT_TRUE(kv_->attach(big, "other", text(192, 9), 192, true, {}));
  fill(big, text(192, 9));  // two pages were free: one must go
  expect_sound({&big});
  const auto known = [&](int seed) {
    KvTables probe;
    EXPECT_TRUE(start(probe, text(128, seed)));
    const int32_t n = probe.positions;
    kv_->release(probe);
    return n;
  };
  EXPECT_EQ(known(1), 128);
  EXPECT_EQ(known(3), 128);
  EXPECT_LT(known(2), 128);
  kv_->release(big);
  expect_sound({});
}

TEST_F(KvCacheTest, PagesInUseAreNotEvicted) {
  open({0}, 4, 4);
  KvTables a, b;
  ASSERT_TRUE(start(a, text(128, 1)));
  fill(a, text(128, 1));
  ASSERT_TRUE(kv_->attach(b, "b", text(192, 2), 192, true, {}));
  EXPECT_FALSE(kv_->grow(b, 192));
  EXPECT_EQ(kv_->room(b), 128);
  const int32_t want[] = {3};
  KvTables c;
  EXPECT_FALSE(kv_->attach(c, "c", text(192, 2), 192, true, want));
  kv_->release(a);  // now idle, hence evictable
  EXPECT_TRUE(kv_->grow(b, 192));
  expect_sound({&b, &c});
}

TEST_F(KvCacheTest, AWindowGivesPagesBackAndIsFoundAgain) {
  open({0, 40}, 40, 40);
  KvTables a, b;
  const auto t = text(1000, 0);
  ASSERT_TRUE(start(a, t));
  for (int32_t n = 50; n <= 1000; n += 50) {
    fill(a, {t.begin(), t.begin() + n});
    EXPECT_LE(kv_->held(a, 1), window_pages(40, 50));
    expect_sound({&a});
  }
  EXPECT_EQ(kv_->held(a, 0), 16);
  ASSERT_TRUE(start(b, text(800, 0)));  // the tree still has the window's pages there
  EXPECT_EQ(b.positions, 800);
  EXPECT_LE(kv_->held(b, 1), 2);
  expect_sound({&a, &b});
}

TEST_F(KvCacheTest, CheckSeesALeak) {
  open({0}, 4, 4);
  KvTables a;
  ASSERT_TRUE(start(a, text(100, 1)));
  fill(a, text(100, 1));
  KvTables forgotten = a;
  forgotten.pages[0].pop_back();
  forgotten.positions = 64;
  EXPECT_FALSE(kv_->check(std::vector<const KvTables*>{&forgotten}));
  EXPECT_FALSE(kv_->check({}));
}

}  // namespace
}  // namespace mlxcel::testing
