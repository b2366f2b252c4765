#include "hub/part_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

// `printf hello | sha256sum`, `printf hello | git hash-object --stdin`
const FileFacts kSha256 = {5, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"};
const FileFacts kGit = {5, "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"};

class PartFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/part_file_test-XXXXXX";
    root_ = mkdtemp(name);
    path_ = (root_ / "f").string();
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_;
  std::string path_;
};

TEST_F(PartFileTest, GoesOnWhereItEnded) {
  for (const FileFacts& facts : {kSha256, kGit}) {
    {
      auto f = PartFile::open(path_, facts);
      ASSERT_TRUE(f);
      ASSERT_TRUE(f->append("hel"));
      EXPECT_FALSE(f->finish());  // too short
    }
    auto f = PartFile::open(path_, facts);
    ASSERT_TRUE(f);
    EXPECT_EQ(f->size(), 3);
    ASSERT_TRUE(f->append("lo"));
    ASSERT_TRUE(f->finish());
    EXPECT_TRUE(fs::exists(path_));
    EXPECT_FALSE(fs::exists(path_ + ".part"));
    EXPECT_TRUE(check_file(path_, facts));
    fs::remove(path_);
  }
}

TEST_F(PartFileTest, WrongBytesStartAgain) {
  auto f = PartFile::open(path_, kSha256);
  ASSERT_TRUE(f);
  ASSERT_TRUE(f->append("jello"));
  const Status s = f->finish();
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, Code::kCorrupt);
  EXPECT_EQ(f->size(), 0);
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(f->append("hello"));
  EXPECT_TRUE(f->finish());
}

TEST_F(PartFileTest, NeverTooLong) {
  std::ofstream(path_ + ".part") << "hello world";
  auto f = PartFile::open(path_, kSha256);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->size(), 0);
  EXPECT_FALSE(f->append("hello world"));
}

TEST_F(PartFileTest, SaysWhyItCannotBeWritten) {
  const auto f = PartFile::open((root_ / "no" / "f").string(), kSha256);
  ASSERT_FALSE(f);
  EXPECT_NE(f.error().message.find("cannot be written: No such"), std::string::npos);
}

}  // namespace
}  // namespace mlxcel
