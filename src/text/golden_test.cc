// Our ids and texts are those of the tokenizers package (tools/golden/make_tokenizers.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "text/detokenizer.h"
#include "text/gguf_vocabulary.h"
#include "text/test_data.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace mlxcel {
namespace {

using Ids = std::vector<int32_t>;
constexpr const char* kFolder = "tests/golden/tokenizers";

json::value read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return json::parse(std::string{std::istreambuf_iterator<char>(file), {}});
}

void expect_golden(const Tokenizer& tokenizer, const json::value& golden) {
  const json::array& cases = golden.at("cases").as_array();
  ASSERT_GE(cases.size(), 80u);
  for (const json::value& one : cases) {
    const std::string text(one.at("text").as_string());
    const auto ids = json::value_to<Ids>(one.at("ids"));
    ASSERT_EQ(tokenizer.encode(text, {false, true}).value(), ids) << one.at("text");
    ASSERT_EQ(tokenizer.encode(text, {true, true}).value(), json::value_to<Ids>(one.at("framed")))
        << one.at("text");
    if (!one.as_object().contains("decoded")) continue;
    ASSERT_EQ(tokenizer.decode(ids, false), one.at("decoded").as_string()) << one.at("text");
    ASSERT_EQ(tokenizer.decode(json::value_to<Ids>(one.at("some")), true),
              one.at("some_decoded").as_string())
        << one.at("some");
  }
}

TEST(Golden, TrainedTokenizers) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const json::value golden = read_json(entry.path());
    if (!golden.as_object().contains("tokenizer")) continue;
    SCOPED_TRACE(entry.path().string());
    auto spec = tokenizer_spec_of_json(entry.path(), json::serialize(golden.at("tokenizer")));
    ASSERT_TRUE(spec) << spec.error().message;
    auto tokenizer = Tokenizer::create(std::move(*spec));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    expect_golden(**tokenizer, golden);
    files++;
  }
  EXPECT_EQ(files, 10);
}

TEST(Golden, SmolLm2) {
  const auto tokenizer = open_test_vocabulary("smollm2.gguf");
  if (!tokenizer) GTEST_SKIP() << kNoTestData;
  expect_golden(*tokenizer, read_json(std::filesystem::path(kFolder) / "smollm2.json"));
}

// The .inp and .out files beside the vocabularies: texts and ids as their makers have them.
TEST(Golden, OtherPeoplesExamples) {
  const auto folder = test_data() / "vocab";
  if (!std::filesystem::exists(folder / ".complete")) GTEST_SKIP() << kNoTestData;
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    std::ifstream texts(entry.path().string() + ".inp", std::ios::binary);
    std::ifstream ids(entry.path().string() + ".out");
    if (!texts) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto tokenizer = open_test_vocabulary("vocab/" + entry.path().filename().string());
    ASSERT_TRUE(tokenizer);
    const std::string all{std::istreambuf_iterator<char>(texts), {}};
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::string line;
    for (size_t at = 0; std::getline(ids, line);) {
      const size_t end = std::min(all.find(separator, at), all.size());
      const std::string text = all.substr(at, end - at);
      at = std::min(end + separator.size(), all.size());
      std::istringstream numbers(line);
      const Ids expected{std::istream_iterator<int32_t>(numbers), {}};
      EXPECT_EQ(tokenizer->encode(text, {false, true}).value(), expected) << text;
      examples++;
    }
  }
  EXPECT_GT(examples, 600);
}

}  // namespace
}  // namespace mlxcel
