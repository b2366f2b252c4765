// The fuzzers' kept inputs hold every hostile file as its table makes it today (formats_tool corpus
// tests/corpus writes them).
#include <gtest/gtest.h>

#include "formats/hostile_files.h"
#include "formats/mapped_file.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

void expect_kept(const std::string& folder, const std::vector<HostileFile>& files) {
  for (const HostileFile& f : files) {
    const auto kept = read_text_file(cat("tests/corpus/", folder, '/', f.name), size_t{1} << 20);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(*kept, f.bytes) << f.name;
  }
}

TEST(Corpus, HoldsEveryHostileFile) {
  expect_kept("gguf", hostile_ggufs());
  expect_kept("safetensors", hostile_safetensors());
  expect_kept("shard_index", hostile_indexes());
  expect_kept("config", hostile_configs());
}

}  // namespace
}  // namespace mlxcel
