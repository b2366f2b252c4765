#include "hub/store.h"
#include "hub/locate.h"
#include "hub/repo_name.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/store_test-XXXXXX";
    root_ = mkdtemp(name);
    before_ = fs::current_path();
    fs::current_path(root_);
    setenv("MLXCEL_MODELS_DIR", (root_ / "store").c_str(), 1);
    setenv("HF_HUB_CACHE", (root_ / "hf").c_str(), 1);
    unsetenv("MLXCEL_DEFAULT_ORG");
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }
  void put(const std::string& path, size_t bytes = 10) {
    const fs::path p = root_ / path;
    fs::create_directories(p.parent_path());
    std::ofstream(p) << std::string(bytes, 'x');
  }
  std::string at(const std::string& path) const { return (root_ / path).string(); }
  std::string resolved(const std::string& name) {
    const auto r = resolve_model(name);
    return r ? *r : "error: " + r.error().message;
  }

  fs::path root_, before_;
};

TEST_F(Store, NamesInOrder) {
  put("hf/models--o--n/refs/main", 0);
  std::ofstream(root_ / "hf/models--o--n/refs/main") << "abc\n";
  put("hf/models--o--n/snapshots/abc/model.safetensors");
  EXPECT_EQ(resolved("o/n"), at("hf/models--o--n/snapshots/abc"));
  put("store/o/n/model.gguf");
  EXPECT_EQ(resolved("o/n"), at("store/o/n"));
  put("models/o/n/model.gguf");
  EXPECT_EQ(resolved("o/n"), "./models/o/n");
  put("o/n/model.gguf");
  EXPECT_EQ(resolved("o/n"), "o/n");
}

TEST_F(Store, BareNames) {
  put("store/someone/tiny/model.gguf");
  EXPECT_EQ(resolved("tiny"), at("store/someone/tiny"));
  put("store/another/tiny/model.gguf");
  EXPECT_NE(resolved("tiny").find("another/tiny, someone/tiny"), std::string::npos);
  put("store/mlx-community/tiny/model.gguf");
  EXPECT_EQ(resolved("tiny"), at("store/mlx-community/tiny"));
  setenv("MLXCEL_DEFAULT_ORG", "another", 1);
  EXPECT_EQ(resolved("tiny"), at("store/another/tiny"));
}

TEST_F(Store, ErrorsListWhatWasTried) {
  put("store/o/tiny/model.gguf");
  const std::string e = resolved("o/tinny");
  for (const char* part : {"./models/o/tinny", "store/o/tinny", "did you mean o/tiny?"})
    EXPECT_NE(e.find(part), std::string::npos) << e;
  EXPECT_NE(resolved("/no/such.gguf").find("no such file"), std::string::npos);
  EXPECT_NE(resolved("").find("SmolLM2"), std::string::npos);
  put(std::string("store/") + kDefaultModel + "/m.gguf");
  EXPECT_EQ(resolved(""), at(std::string("store/") + kDefaultModel));
}

TEST_F(Store, ListsWholeModelsOnly) {
  ASSERT_TRUE(stored_models());
  EXPECT_TRUE(stored_models()->empty());
  put("store/o/b/model.gguf", 1000);
  put("store/o/b/config.json", 24);
  put("store/o/b/.fetch-1/part.gguf", 7777);
  put("store/o/a/model.safetensors", 5);
  put("store/o/half/config.json");
  const auto models = stored_models();
  ASSERT_TRUE(models);
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ((*models)[0].name, "o/a");
  EXPECT_EQ((*models)[1].bytes, 1024);
}

TEST_F(Store, PartialModels) {
  put("store/o/.a.part/model.gguf.part", 70);
  put("store/o/b/model.gguf");
  put("store/o/.b.part/model.gguf");
  ASSERT_EQ(stored_models()->size(), 1u);
  const auto all = stored_models(true);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].name, "o/a");
  EXPECT_TRUE((*all)[0].partial);
  EXPECT_EQ((*all)[0].bytes, 70);
  EXPECT_NE(resolved("o/a").find("mlxcel download o/a"), std::string::npos);
  ASSERT_TRUE(remove_stored(*find_stored("a")));
  ASSERT_TRUE(remove_stored(*find_stored("o/b")));
  EXPECT_FALSE(fs::exists(root_ / "store/o"));
}

TEST_F(Store, RepoNames) {
  EXPECT_EQ(*repo_name("n"), "mlx-community/n");
  EXPECT_EQ(*repo_name("o/n"), "o/n");
  for (const char* bad : {"", "o/n/x", "../n", "o/..", "/n", "o/"})
    EXPECT_FALSE(repo_name(bad)) << bad;
  EXPECT_NE(repo_name("https://hub/o/n").error().message.find("did you mean o/n?"),
            std::string::npos);
}

TEST_F(Store, RemovesNothingElse) {
  put("store/o/a/model.gguf");
  put("store/o/b/model.gguf");
  put("outside/model.gguf");
  for (const char* bad : {"../outside", "o/../../outside", "/tmp", "", ".", "o/", "o/a/b"})
    EXPECT_FALSE(find_stored(bad)) << bad;
  const auto a = find_stored("a");
  ASSERT_TRUE(a);
  ASSERT_TRUE(remove_stored(*a));
  EXPECT_FALSE(fs::exists(root_ / "store/o/a"));
  EXPECT_TRUE(fs::exists(root_ / "store/o/b"));
  ASSERT_TRUE(remove_stored(*find_stored("o/b")));
  EXPECT_FALSE(fs::exists(root_ / "store/o"));
  EXPECT_TRUE(fs::exists(root_ / "outside"));
}

TEST(ReadableSize, KeepsTwoDigits) {
  EXPECT_EQ(readable_size(0), "0 B");
  EXPECT_EQ(readable_size(999), "999 B");
  EXPECT_EQ(readable_size(1500), "1.5 kB");
  EXPECT_EQ(readable_size(98362432), "98 MB");
  EXPECT_EQ(readable_size(999999), "1.0 MB");
  EXPECT_EQ(readable_size(12'300'000'000), "12 GB");
}

}  // namespace
}  // namespace mlxcel
