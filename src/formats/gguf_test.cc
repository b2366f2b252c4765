#include "formats/gguf.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

#include "formats/hostile_files.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

// Parses a copy of exactly that size on the heap, so that a sanitizer sees every byte too far.
std::string parse_error(const std::string& bytes) {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  const auto file = GgufFile::parse("m.gguf", exact);
  return file ? "" : file.error().message;
}

TEST(Gguf, EveryLieIsTold) {
  for (const HostileFile& f : hostile_ggufs()) {
    EXPECT_EQ(parse_error(f.bytes), f.error.empty() ? "" : cat("m.gguf: ", f.error)) << f.name;
  }
}

TEST(Gguf, TypesThatAreNotDoneAreUnsupportedNotCorrupt) {
  for (const HostileFile& f : hostile_ggufs()) {
    const bool unsupported = f.name == "tensor_type_iq2_xxs" || f.name == "array_of_arrays" ||
                             f.name.starts_with("version_") || f.name == "big_endian";
    if (f.error.empty()) continue;
    const auto file = GgufFile::parse("m.gguf", bytes_of_text(f.bytes));
    EXPECT_EQ(file.error().code, unsupported ? Code::kUnsupported : Code::kCorrupt) << f.name;
  }
}

TEST(Gguf, EveryValueComesBack) {
  GgufWriter w(3, 64);
  const std::vector<std::pair<GgufType, int64_t>> integers = {
      {GgufType::kU8, 255},        {GgufType::kI8, -128},       {GgufType::kU16, 65535},
      {GgufType::kI16, -32768},    {GgufType::kU32, 1LL << 31}, {GgufType::kI32, -(1LL << 31)},
      {GgufType::kU64, INT64_MAX}, {GgufType::kI64, INT64_MIN}};
  for (const auto& [type, value] : integers) {
    w.integer(cat("one.", name(type)), type, value);
    w.integers(cat("many.", name(type)), type, std::vector<int64_t>{0, value, 1});
  }
  w.number("f32", GgufType::kF32, 0.1);
  w.number("f64", GgufType::kF64, 0.1);
  w.numbers("f32s", GgufType::kF32, std::vector<double>{0.1, INFINITY});
  w.boolean("yes", true);
  w.boolean("no", false);
  w.string("text", std::string_view("a\0\xff", 3));
  w.strings("texts", std::vector<std::string>{"", "b"});
  w.tensor("first", DType::kF16, {3, 5});
  w.tensor("second", DType::kQ4_1, {2, 3, 32});
  const std::string bytes = gguf_bytes(w, {30, 120});
  const auto file = GgufFile::parse("m.gguf", bytes_of_text(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->alignment(), 64u);
  EXPECT_EQ(file->data_offset() % 64, 0u);
  for (const auto& [type, value] : integers) {
    EXPECT_EQ(*file->integer(cat("one.", name(type))), value);
    const GgufArray* many = *file->integers(cat("many.", name(type)));
    ASSERT_EQ(many->size(), 3u);
    EXPECT_EQ(many->integer_at(1), value);
    EXPECT_EQ(many->integer_at(2), 1);
  }
  EXPECT_EQ(*file->number("f32"), static_cast<double>(0.1f));
  EXPECT_EQ(*file->number("f64"), 0.1);
  EXPECT_EQ(*file->number("one.u8"), 255);
  EXPECT_EQ((*file->numbers("f32s"))->number_at(1), INFINITY);
  EXPECT_TRUE(*file->boolean("yes"));
  EXPECT_FALSE(*file->boolean("no"));
  EXPECT_EQ(*file->string("text"), std::string_view("a\0\xff", 3));
  EXPECT_EQ((*file->strings("texts"))->string_at(0), "");
  EXPECT_EQ((*file->strings("texts"))->string_at(1), "b");

  const FileTensor* first = file->find_tensor("first");
  EXPECT_EQ(first->shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(first->dtype, DType::kF16);
  EXPECT_EQ(first->bytes, 30);
  EXPECT_EQ(first->data[0], 1);
  EXPECT_EQ(first->data[29], 1);
  const FileTensor* second = file->find_tensor("second");
  EXPECT_EQ(second->shape, (std::vector<int64_t>{2, 3, 32}));
  EXPECT_EQ(second->data - first->data, 64);
  EXPECT_EQ(second->data[119], 2);
  EXPECT_EQ(file->find_tensor("third"), nullptr);
}

TEST(Gguf, AskingForTheWrongKindNamesBoth) {
  GgufWriter w;
  w.string("text", "x");
  w.integers("list", GgufType::kI16, std::vector<int64_t>{1});
  const std::string bytes = w.header();
  const auto file = GgufFile::parse("m.gguf", bytes_of_text(bytes));
  EXPECT_EQ(file->integer("text").error().message,
            "m.gguf: key \"text\": expected an integer, found string");
  EXPECT_EQ(file->strings("list").error().message,
            "m.gguf: key \"list\": expected an array of strings, found an array of i16");
  EXPECT_EQ(file->boolean("gone").error().message,
            "m.gguf: key \"gone\": expected a bool, found no such key");
}

TEST(Gguf, CutAtEveryLengthItIsRefused) {
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("a", DType::kF32, {8});
  w.tensor("b", DType::kQ8_0, {2, 32});
  const std::string whole = gguf_bytes(w, {32, 68});
  const size_t end = whole.size() - w.padding(1);
  for (size_t length = 0; length <= whole.size(); length++) {
    const std::string error = parse_error(whole.substr(0, length));
    ASSERT_EQ(error.empty(), length >= end) << length;
    ASSERT_TRUE(error.empty() || error.starts_with("m.gguf: ")) << error;
  }
}

// Each byte of the description replaced by each of a few values: an error or a file whose tensors
// lie inside it, never a crash.
TEST(Gguf, NoByteIsBelieved) {
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("a", DType::kF32, {8});
  w.tensor("b", DType::kQ8_0, {2, 32});
  const std::string whole = gguf_bytes(w, {32, 68});
  for (size_t i = 0; i < w.header().size(); i++) {
    for (const int value : {0, 1, 9, 0x7f, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(value);
      const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
      const auto file = GgufFile::parse("m.gguf", exact);
      if (!file) continue;
      for (const FileTensor& t : file->tensors()) {
        ASSERT_GE(t.data, exact.data());
        ASSERT_LE(t.data + t.bytes, exact.data() + exact.size());
      }
    }
  }
}

// 100,000 names that share a long beginning: sorting them is n log n, an attacked hash would not
// be.
TEST(Gguf, ManyNamesTakeLittleTime) {
  GgufWriter w;
  for (int i = 0; i < 100000; i++) w.boolean(cat("general.some.long.common.beginning.", i), true);
  const std::string bytes = w.header();
  const std::clock_t begin = std::clock();
  const auto file = GgufFile::parse("m.gguf", bytes_of_text(bytes));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_TRUE(file);
  EXPECT_TRUE(*file->boolean("general.some.long.common.beginning.99999"));
  EXPECT_LT(seconds, 5);  // of this process: 0.05, 0.5 with sanitizers; a quadratic search: 50
}

TEST(MappedFile, OnlyRegularFilesAreOpened) {
  const TempFolder folder;
  const auto message = [&](std::string_view name) {
    const auto file = GgufFile::open(folder.path(name));
    const std::string m = file ? "" : file.error().message;
    return m.substr(std::min(m.size(), folder.path(name).size()));
  };
  std::filesystem::create_directory(folder.path("folder"));
  EXPECT_EQ(message("folder"), ": expected a regular file, found a directory");
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(message("pipe"), ": expected a regular file, found a pipe");  // and does not wait
  EXPECT_EQ(message("gone"), ": expected a file, found nothing");
  std::filesystem::create_symlink("nowhere/blob", folder.path("link"));
  EXPECT_EQ(message("link"), ": broken link: its target nowhere/blob does not exist");
  std::filesystem::create_symlink("loop", folder.path("loop"));
  EXPECT_EQ(message("loop"), ": cannot open: Too many levels of symbolic links");
  EXPECT_EQ(GgufFile::open("/dev/null").error().message,
            "/dev/null: expected a regular file, found a device");
  folder.write("empty", "");
  EXPECT_EQ(message("empty"),
            ": magic: expected 4 bytes at offset 0, found 0 (the file has 0 bytes)");
  chmod(folder.write("closed", "GGUF").c_str(), 0);
  const bool root = geteuid() == 0;  // root reads everything: be nobody for a moment
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string closed = message("closed");
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(closed, ": cannot open: Permission denied");
}

TEST(MappedFile, AMovedFileKeepsItsBytes) {
  const TempFolder folder;
  GgufWriter w;
  w.string("k", "value");
  auto file = GgufFile::open(folder.write("m.gguf", w.header()));
  ASSERT_TRUE(file);
  const GgufFile moved = std::move(*file);
  EXPECT_EQ(*moved.string("k"), "value");
  moved.mapped().advise(MappedFile::Access::kDontNeed, 3, SIZE_MAX);
  moved.mapped().advise(MappedFile::Access::kWillNeed, SIZE_MAX, SIZE_MAX);
  EXPECT_EQ(*moved.string("k"), "value");
}

TEST(GgufWriter, WritesWhatItSays) {
  const TempFolder folder;
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("a", DType::kF32, {3});
  w.tensor("b", DType::kF32, {5});
  const std::string path = folder.path("m.gguf");
  const auto fill = [](size_t i, OutputFile& out) {
    return out.write(std::string(i == 0 ? 12 : 20, static_cast<char>(i + 1)));
  };
  ASSERT_TRUE(w.write(path, fill));
  const auto text = read_text_file(path, 1 << 20);
  EXPECT_EQ(*text, gguf_bytes(w, {12, 20}));

  // A writer that fails leaves the old file and nothing else.
  const auto fail = [](size_t, OutputFile&) { return Status(Error{Code::kIo, "no"}); };
  EXPECT_EQ(w.write(path, fail).error().message, "no");
  EXPECT_EQ(*read_text_file(path, 1 << 20), *text);
  int files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder.path())) files++;
  EXPECT_EQ(files, 1);
  EXPECT_FALSE(w.write(folder.path("gone/m.gguf"), fill));
}

}  // namespace
}  // namespace mlxcel
