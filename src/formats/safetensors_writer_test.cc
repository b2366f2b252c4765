#include "formats/safetensors_writer.h"

#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

// Tensor i is filled with the value i + 1.
TensorData filled(const std::vector<int64_t>& sizes) {
  return [sizes](size_t i, OutputFile& out) {
    return out.write(std::string(static_cast<size_t>(sizes[i]), static_cast<char>(i + 1)));
  };
}

const std::vector<TensorSpec> kSpecs = {{"a", DType::kU8, {5}},
                                        {"b \"\n", DType::kF32, {2, 3}},
                                        {"c", DType::kBF16, {}},
                                        {"d", DType::kU32, {4}}};
const std::vector<int64_t> kSizes = {5, 24, 2, 16};

void expect_all(const Checkpoint& c) {
  ASSERT_EQ(c.tensors().size(), kSpecs.size());
  for (size_t i = 0; i < kSpecs.size(); i++) {
    const FileTensor* t = c.find(kSpecs[i].name);
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(t->dtype, kSpecs[i].dtype);
    EXPECT_EQ(t->shape, kSpecs[i].shape);
    ASSERT_EQ(t->bytes, kSizes[i]);
    for (int64_t b = 0; b < t->bytes; b++) ASSERT_EQ(t->data[b], i + 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data) % static_cast<size_t>(info(t->dtype).bytes), 0u);
  }
}

TEST(SafetensorsWriter, OneFileAndShards) {
  for (const int64_t most : {1000, 24, 18, 1}) {
    const TempFolder folder;
    folder.write("config.json", R"({"model_type":"llama"})");
    ASSERT_TRUE(
        write_safetensors_model(folder.path(), kSpecs, {{"format", "mlx"}}, most, filled(kSizes)));
    const auto c = open_checkpoint(folder.path());
    ASSERT_TRUE(c) << c.error().message;
    expect_all(*c);
    std::vector<std::string> files;
    for (const auto& f : std::filesystem::directory_iterator(folder.path()))
      files.push_back(f.path().filename().string());
    // 5 | 24 | 2 + 16 at 24 and 18; one each at 1; and the index and config.json.
    EXPECT_EQ(files.size(), most == 1000 ? 2u : most == 1 ? 6u : 5u);
  }
}

TEST(SafetensorsWriter, AFailureLeavesWhatWasThere) {
  const TempFolder folder;
  const std::string path = folder.write("m.safetensors", "old");
  const auto fail = [](size_t i, OutputFile& out) -> Status {
    if (i == 2) return Error{Code::kIo, "no more"};
    return out.write(std::string(static_cast<size_t>(kSizes[i]), 'x'));
  };
  EXPECT_EQ(write_safetensors(path, kSpecs, {}, fail).error().message, "no more");
  EXPECT_EQ(*read_text_file(path, 10), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(SafetensorsWriter, WhatCannotBeWrittenIsRefused) {
  const auto message = [](const std::vector<TensorSpec>& specs) {
    const TempFolder folder;
    const auto s = write_safetensors(folder.path("m"), specs, {}, filled({1, 1, 1}));
    if (s) return std::string();
    return s.error().message.substr(folder.path("m").size());
  };
  EXPECT_EQ(message({{"q", DType::kQ4_1, {32}}}),
            ": tensor \"q\": expected a type that safetensors has, found Q4_1");
  EXPECT_EQ(message({{"a", DType::kU8, {1}}, {"b", DType::kU8, {1}}, {"a", DType::kU8, {1}}}),
            ": tensor \"a\": expected each name once, found it twice");
  EXPECT_EQ(message({{"a", DType::kF64, {int64_t{1} << 60}}}),
            ": tensor \"a\": expected fewer than 2^63 bytes, found shape [1152921504606846976]");
  EXPECT_EQ(message({{"a", DType::kU8, {-1}}}),
            ": tensor \"a\": expected fewer than 2^63 bytes, found shape [-1]");
}

}  // namespace
}  // namespace mlxcel
