#include "hub/select_files.h"

#include <gtest/gtest.h>

namespace mlxcel {
namespace {

Repo repo_of(const std::vector<std::string>& paths) {
  Repo r;
  r.name = "o/n";
  for (const std::string& p : paths) r.files.push_back({p, {1000, ""}});
  return r;
}

std::string chosen(const std::vector<std::string>& paths, const std::string& wanted = "",
                   const std::string& index = "") {
  const auto files = select_files(repo_of(paths), wanted, index);
  if (!files) return files.error().message;
  std::string all;
  for (const RepoFile& f : *files) all += (all.empty() ? "" : " ") + f.path;
  return all;
}

TEST(SelectFiles, LeavesOutWhatNobodyReads) {
  EXPECT_EQ(chosen({".gitattributes", "README.md", "config.json", "vocab.json", "model.safetensors",
                    "onnx/model.onnx", "pytorch_model.bin", "tokenizer.json",
                    "original/params.json", "consolidated.safetensors", "model.fp16.safetensors"}),
            "config.json tokenizer.json model.safetensors");
}

TEST(SelectFiles, FollowsTheIndex) {
  const std::vector<std::string> paths = {
      "model.safetensors.index.json", "config.json", "model-00001-of-00002.safetensors",
      "model-00002-of-00002.safetensors", "model-old.safetensors"};
  const std::string index =
      R"({"weight_map": {"a": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors"}})";
  EXPECT_EQ(chosen(paths, "", index),
            "model.safetensors.index.json config.json model-00001-of-00002.safetensors "
            "model-00002-of-00002.safetensors");
  EXPECT_NE(chosen(paths, "", R"({"weight_map": {"a": "gone.safetensors"}})").find("gone"),
            std::string::npos);
  EXPECT_NE(chosen(paths, "", "[]").find("weight_map"), std::string::npos);
}

TEST(SelectFiles, OneGguf) {
  EXPECT_EQ(chosen({"a.gguf", "mmproj-a.gguf", "README.md"}), "a.gguf");
  EXPECT_EQ(chosen({"a-Q8_0.gguf", "a-Q4_K_M.gguf"}), "a-Q4_K_M.gguf");
  EXPECT_EQ(chosen({"a-Q8_0.gguf", "a-Q4_K_M.gguf"}, "q8"), "a-Q8_0.gguf");
  EXPECT_EQ(chosen({"a-Q4_K.gguf", "a-Q4_K_M.gguf"}, "Q4_K"), "a-Q4_K.gguf");
  EXPECT_EQ(chosen({"Q8/a-00001-of-00002.gguf", "Q8/a-00002-of-00002.gguf", "Q4/a.gguf"}, "q8/"),
            "Q8/a-00001-of-00002.gguf Q8/a-00002-of-00002.gguf");
}

TEST(SelectFiles, ErrorsListTheChoice) {
  const std::string two = chosen({"a-Q8_0.gguf", "a-Q5_0.gguf"});
  for (const char* part : {"--file", "a-Q8_0  1.0 kB", "a-Q5_0"})
    EXPECT_NE(two.find(part), std::string::npos) << two;
  EXPECT_NE(chosen({"a-Q8_0.gguf"}, "Q9").find("Q9"), std::string::npos);
  EXPECT_NE(chosen({"pytorch_model.bin", "config.json"}).find("safetensors or GGUF"),
            std::string::npos);
}

TEST(Listing, IsChecked) {
  const auto good = parse_listing("o/n", R"({"sha": "0123456789012345678901234567890123456789",
    "siblings": [{"rfilename": "a", "size": 3, "blobId": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
                 {"rfilename": "b", "size": 4, "blobId": "x", "lfs": {"sha256": "zz"}}, {"rfilename": "c"}]})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->files[0].facts.size, 3);
  EXPECT_EQ(good->files[0].facts.hash.size(), 40u);
  EXPECT_EQ(good->files[1].facts.hash, "");
  EXPECT_EQ(good->files[2].facts.size, -1);
  for (const char* bad :
       {"", "[]", "{}", R"({"sha": "x", "siblings": []})",
        R"({"sha": "0123456789012345678901234567890123456789", "siblings": [1]})"})
    EXPECT_FALSE(parse_listing("o/n", bad)) << bad;
}

TEST(Urls, OriginsAndPaths) {
  EXPECT_EQ(origin_of("https://Hub.example/a/b?c"), "https://hub.example:443");
  EXPECT_EQ(origin_of("http://127.0.0.1:81/"), "http://127.0.0.1:81");
  EXPECT_EQ(origin_of("ftp://x/"), "");
  EXPECT_EQ(origin_of("nonsense"), "");
  EXPECT_EQ(escape_path("a b/c%#?.x"), "a%20b/c%25%23%3F.x");
  EXPECT_EQ(escape_component("refs/pr/1"), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace mlxcel
