#include "formats/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/test_files.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = R"({"model_type":"llama","hidden_size":64})";

// A safetensors file of one-byte tensors.
std::string shard(const std::vector<std::string>& names) {
  std::string header;
  for (size_t i = 0; i < names.size(); i++) {
    header += cat(i ? "," : "{", '"', names[i], R"(":{"dtype":"U8","shape":[1],"data_offsets":[)",
                  i, ',', i + 1, "]}");
  }
  header += '}';
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         std::string(names.size(), 'x');
}

std::string index_of(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string s = "{\"weight_map\":{";
  for (size_t i = 0; i < map.size(); i++)
    s += cat(i ? "," : "", '"', map[i].first, "\":\"", map[i].second, '"');
  return s + "}}";
}

constexpr const char kShard1[] = "model-00001-of-00002.safetensors",
                     kShard2[] = "model-00002-of-00002.safetensors",
                     kIndex[] = "model.safetensors.index.json";

// Two shards and their index, as mlx-lm and Hugging Face write them.
struct TwoShards {
  TempFolder folder;
  TwoShards() {
    folder.write("config.json", kConfig);
    folder.write(kShard1, shard({"a", "b"}));
    folder.write(kShard2, shard({"c"}));
    folder.write(kIndex, index_of({{"a", kShard1}, {"b", kShard1}, {"c", kShard2}}));
  }
  std::string error() const {
    const auto c = open_checkpoint(folder.path());
    return c ? "" : c.error().message;
  }
};

TEST(Checkpoint, TwoShards) {
  const TwoShards two;
  two.folder.write("generation_config.json", R"({"eos_token_id":[7,8],"do_sample":true})");
  const auto c = open_checkpoint(two.folder.path());
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->kind(), Checkpoint::Kind::kSafetensors);
  EXPECT_EQ(c->gguf(), nullptr);
  EXPECT_EQ(c->tensors().size(), 3u);
  EXPECT_EQ(c->bytes(), 3);
  EXPECT_EQ(c->find("c")->file, two.folder.path(kShard2));
  EXPECT_EQ(c->find("c")->data[0], 'x');
  EXPECT_EQ(c->find("d"), nullptr);
  EXPECT_EQ(*c->config().integer("hidden_size"), 64);
  EXPECT_EQ(*c->config().integers("generation.eos_token_id"), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(c->directory(), two.folder.path());
}

// M01, its whole kind.
TEST(Checkpoint, AShardThatIsNotThere) {
  const auto missing = [](const TwoShards& t, const std::string& names) {
    return cat(t.folder.path(), ": incomplete download? Missing files: ", names);
  };
  const TwoShards gone;
  fs::remove(gone.folder.path(kShard2));
  EXPECT_EQ(gone.error(), missing(gone,
                                  "\"model-00002-of-00002.safetensors\" (tensor \"c\" is "
                                  "in none of the others)"));
  fs::remove(gone.folder.path(kIndex));  // the name of a part alone promises the others
  EXPECT_EQ(gone.error(), missing(gone, "\"model-00002-of-00002.safetensors\""));

  const TwoShards renamed;  // every tensor is there once: a stale index, not a missing weight
  fs::rename(renamed.folder.path(kShard2), renamed.folder.path("model-other.safetensors"));
  EXPECT_EQ(renamed.error(), "");

  const TwoShards partial;  // nothing but half a download
  fs::rename(partial.folder.path(kShard2), partial.folder.path(cat(kShard2, ".incomplete")));
  EXPECT_EQ(partial.error(), missing(partial,
                                     "\"model-00002-of-00002.safetensors\" (tensor \"c\" "
                                     "is in none of the others)"));

  const TwoShards linked;  // a snapshot whose blob is gone
  fs::remove(linked.folder.path(kShard2));
  fs::create_symlink("../blobs/abc", linked.folder.path(kShard2));
  EXPECT_EQ(linked.error(), cat(linked.folder.path(kShard2),
                                ": broken link: its target ../blobs/abc does not exist"));

  const TempFolder empty;
  EXPECT_EQ(open_checkpoint(empty.path()).error().message,
            cat(empty.path(),
                ": expected config.json with *.safetensors, or one .gguf, found an "
                "empty directory"));
}

TEST(Checkpoint, AnIndexThatIsWrong) {
  const TwoShards same;  // names one shard for all; the other one holds "c"
  same.folder.write(kIndex, index_of({{"a", kShard1}, {"b", kShard1}, {"c", kShard1}}));
  EXPECT_EQ(same.error(), "");

  const TwoShards stale;  // names old files, all tensors exist elsewhere
  stale.folder.write(kIndex, index_of({{"a", "old-1.safetensors"}, {"c", "old-2.safetensors"}}));
  EXPECT_EQ(stale.error(), "");
  EXPECT_EQ(open_checkpoint(stale.folder.path())->tensors().size(), 3u);

  const TwoShards more;  // promises a tensor that no file has
  more.folder.write(kIndex, index_of({{"a", kShard1}, {"c", kShard2}, {"d", kShard2}}));
  EXPECT_EQ(more.error(), cat(more.folder.path(kIndex), ": tensor \"d\": expected in \"", kShard2,
                              "\", found in no file"));

  const TwoShards twice;  // a tensor in two files would be set twice
  twice.folder.write(kShard2, shard({"c", "a"}));
  EXPECT_EQ(twice.error(), cat(twice.folder.path(kShard2),
                               ": tensor \"a\": expected in one file, "
                               "found also in ",
                               twice.folder.path(kShard1)));

  const TwoShards single;  // one file of its own makes the index history
  single.folder.write("model.safetensors", shard({"z"}));
  EXPECT_EQ(open_checkpoint(single.folder.path())->tensors().size(), 1u);
}

TEST(Checkpoint, ADirectoryThatIsNoModel) {
  const TempFolder folder;
  const auto found = [&] {
    const std::string m = open_checkpoint(folder.path()).error().message;
    return m.substr(std::min(m.size(), m.find("found ")));
  };
  folder.write("pytorch_model.bin", "x");
  EXPECT_EQ(found(), "found PyTorch pickles, which are not read");
  folder.write("a.gguf", "");
  folder.write("b.gguf", "");
  EXPECT_EQ(found(), "found 2 GGUF files (give the path of one): \"a.gguf\" \"b.gguf\"");
  folder.write("model.safetensors", shard({"a"}));
  fs::remove(folder.path("a.gguf"));
  fs::remove(folder.path("b.gguf"));
  EXPECT_EQ(open_checkpoint(folder.path()).error().message,
            cat(folder.path("config.json"), ": expected a file, found nothing"));
  EXPECT_EQ(open_checkpoint(folder.path("nowhere")).error().code, Code::kNotFound);
}

std::string tiny_gguf() {
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("token_embd.weight", DType::kF32, {5, 64});
  return gguf_bytes(w, {1280});
}

TEST(Checkpoint, AGguf) {
  const TempFolder folder;
  const std::string path = folder.write("tiny.gguf", tiny_gguf());
  for (const std::string& p : {path, folder.path()}) {
    const auto c = open_checkpoint(p);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->kind(), Checkpoint::Kind::kGguf);
    EXPECT_EQ(c->directory(), folder.path());
    EXPECT_EQ(c->find("token_embd.weight")->bytes, 1280);
    EXPECT_EQ(c->find("token_embd.weight")->file, path);
    EXPECT_EQ(*c->gguf()->string("general.architecture"), "llama");
    EXPECT_EQ(*c->config().integer("vocab_size"), 5);
    const FileTensor& t = *c->find("token_embd.weight");
    c->advise(t.data, t.bytes, MappedFile::Access::kDontNeed);
    EXPECT_EQ(c->find("token_embd.weight")->data[1279], 1);
  }
}

// M11: names with blanks and other letters, links, and paths with "..".
TEST(Checkpoint, PathsAsPeopleHaveThem) {
  const TempFolder folder("m \xc5\xbd\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x80x");
  fs::create_directories(folder.path("blobs"));
  fs::create_directories(folder.path("snapshots/1"));
  folder.write("blobs/aa", kConfig);
  folder.write("blobs/bb", shard({"a"}));
  fs::create_symlink("../../blobs/aa", folder.path("snapshots/1/config.json"));
  fs::create_symlink("../../blobs/bb", folder.path("snapshots/1/model.safetensors"));
  fs::create_directory_symlink("snapshots/1", folder.path("current"));
  folder.write("tiny model.gguf", tiny_gguf());
  for (const char* name : {"snapshots/1", "snapshots/1/", "snapshots/1/model.safetensors",
                           "current", "current/../1", "tiny model.gguf"}) {
    const auto c = open_checkpoint(folder.path(name));
    EXPECT_TRUE(c) << name << ": " << c.error().message;
  }
  const fs::path before = fs::current_path();
  fs::current_path(folder.path("blobs"));
  EXPECT_TRUE(open_checkpoint("../current"));
  EXPECT_TRUE(open_checkpoint("../tiny model.gguf"));
  fs::current_path(folder.path("snapshots/1"));
  EXPECT_TRUE(open_checkpoint("model.safetensors"));
  EXPECT_TRUE(open_checkpoint("."));
  fs::current_path(before);
  fs::create_directory_symlink("gone", folder.path("dangling"));
  EXPECT_EQ(open_checkpoint(folder.path("dangling")).error().message,
            cat(folder.path("dangling"), ": broken link: its target gone does not exist"));
}

// Part `part` (from 0) of a split GGUF with one tensor a part.
std::string split_part(int part, int count, int tensors, std::string_view tensor) {
  GgufWriter w;
  if (part == 0) set_tiny_llama(w);
  w.integer("split.no", GgufType::kU16, part);
  w.integer("split.count", GgufType::kU16, count);
  w.integer("split.tensors.count", GgufType::kI32, tensors);
  w.tensor(tensor, DType::kF32, {8});
  return gguf_bytes(w, {32});
}

TEST(Checkpoint, ASplitGguf) {
  const TempFolder folder;
  const auto message = [&](std::string_view name) {
    const auto c = open_checkpoint(folder.path(name));
    return c ? "" : c.error().message;
  };
  folder.write("m-00001-of-00002.gguf", split_part(0, 2, 2, "a"));
  EXPECT_EQ(message("m-00001-of-00002.gguf"),
            cat(folder.path(), ": incomplete download? Missing files: \"m-00002-of-00002.gguf\""));
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 2, "b"));
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "."}) {
    const auto c = open_checkpoint(folder.path(name));
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->tensors().size(), 2u);
    EXPECT_TRUE(c->gguf()->has("general.architecture"));
    EXPECT_TRUE(c->find("b")->file.ends_with("m-00002-of-00002.gguf"));
  }
  const std::string second = folder.path("m-00002-of-00002.gguf");
  folder.write("m-00002-of-00002.gguf", split_part(0, 2, 2, "b"));
  EXPECT_EQ(message("m-00001-of-00002.gguf"),
            cat(second, ": key \"split.no\": expected 1 by the file's name, found 0"));
  folder.write("m-00002-of-00002.gguf", split_part(1, 3, 2, "b"));
  EXPECT_EQ(message("m-00001-of-00002.gguf"),
            cat(second, ": key \"split.count\": expected 2 by the file's name, found 3"));
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 2, "a"));
  EXPECT_EQ(message("m-00001-of-00002.gguf"),
            cat(second, ": tensor \"a\": expected in one file, found also in ",
                folder.path("m-00001-of-00002.gguf")));
  folder.write("m-00001-of-00002.gguf", split_part(0, 2, 3, "c"));
  EXPECT_EQ(message("m-00001-of-00002.gguf"),
            cat(folder.path("m-00001-of-00002.gguf"),
                ": key \"split.tensors.count\": expected 3 tensors in all parts, found 2"));
  fs::rename(second, folder.path("alone.gguf"));
  EXPECT_EQ(message("alone.gguf"),
            cat(folder.path("alone.gguf"),
                ": key \"split.count\": expected 1 by the file's name, found 2"));
}

}  // namespace
}  // namespace mlxcel
