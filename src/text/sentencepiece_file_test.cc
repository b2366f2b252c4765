// tokenizer.model: what a file says reaches the tokenizer, and no cut or broken file does harm.
#include "text/sentencepiece_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace mlxcel {
namespace {

using Ids = std::vector<int32_t>;

std::string field(int number, std::string_view bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out += static_cast<char>(bytes.size());
  return out += bytes;
}

std::string number_field(int number, uint8_t value) {
  std::string out;
  if (number < 16) {
    out = static_cast<char>(number << 3);
  } else {
    out = {static_cast<char>((number << 3 & 0x7F) | 0x80), static_cast<char>(number >> 4)};
  }
  return out += static_cast<char>(value);
}

std::string piece(std::string_view text, float score, uint8_t type) {
  std::string bytes = field(1, text);
  bytes += static_cast<char>(2 << 3 | 5);
  bytes.append(reinterpret_cast<const char*>(&score), sizeof score);
  return field(1, bytes + number_field(3, type));
}

constexpr const char* kMark = "\xE2\x96\x81";

// BPE over a, b, ab with <unk>, <s>, </s>, one user-defined and one unused token.
std::string small_model(uint8_t kind = 2, std::string_view normalizer = "") {
  std::string model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
  model += piece("a", -3, 1) + piece("b", -4, 1) + piece("ab", -1, 1);
  model += piece("<|u|>", 0, 4) + piece(std::string(kMark), -2, 1);
  model += piece(std::string(kMark) + "ab", -1.5F, 1) + piece("bb", -0.5F, 5);
  return model + field(2, number_field(3, kind)) + field(3, normalizer);
}

Result<std::unique_ptr<Tokenizer>> open(std::string_view model) {
  TRY(auto spec, tokenizer_spec_of_sentencepiece("m", model));
  return Tokenizer::create(std::move(spec));
}

std::string message(std::string_view model) {
  const auto made = open(model);
  return made ? "no error" : made.error().message;
}

TEST(SentencePieceFile, ReadsPiecesAndRules) {
  const auto t = open(small_model());
  ASSERT_TRUE(t) << t.error().message;
  const auto ids = [&](std::string_view text, EncodeOptions o = {false, true}) {
    return (*t)->encode(text, o).value();
  };
  EXPECT_EQ(ids("ab"), (Ids{8}));
  EXPECT_EQ(ids("  ab  a "), (Ids{8, 7, 3}));
  EXPECT_EQ(ids("a<|u|>b"), (Ids{7, 3, 6, 4}));
  EXPECT_EQ(ids("</s>"), (Ids{2}));
  EXPECT_EQ(ids("</s>", {false, false}), (Ids{7, 0}));  // five unknown characters: one token
  EXPECT_EQ(ids("aba"), (Ids{8, 3}));
  EXPECT_EQ(ids("bbb"), (Ids{7, 4, 4, 4}));  // "bb" is unused
  EXPECT_EQ(ids("a", {true, true}), (Ids{1, 7, 3}));
  EXPECT_EQ((*t)->decode(Ids{1, 8, 7, 3}), "ab a");
  EXPECT_EQ((*t)->bos(), 1);
  EXPECT_EQ((*t)->eos(), 2);
}

TEST(SentencePieceFile, ReadsTheNormalizersFlags) {
  // No dummy prefix, blanks as they are.
  const auto bare = open(small_model(2, number_field(3, 0) + number_field(4, 0)));
  ASSERT_TRUE(bare) << bare.error().message;
  EXPECT_EQ((*bare)->encode(" a  b", {false, true}).value(), (Ids{7, 3, 7, 7, 4}));
  EXPECT_EQ((*bare)->decode(Ids{7, 3}), " a");
  const auto unigram = open(small_model(1));
  ASSERT_TRUE(unigram) << unigram.error().message;
  EXPECT_EQ((*unigram)->encode("ab", {false, true}).value(), (Ids{8}));
}

// sentencepiece's answers; the tokenizers package makes U+FFFD of all bytes of such a run.
TEST(SentencePieceFile, WholeCharactersOfABrokenRunOfBytesStay) {
  std::string model = small_model();
  for (const char* byte : {"<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>"}) model += piece(byte, 0, 6);
  const auto t = open(model);
  ASSERT_TRUE(t) << t.error().message;
  const auto text = [&](const Ids& ids) { return (*t)->decode(ids); };
  const std::string bad = "\xEF\xBF\xBD", you = "\xE4\xBD\xA0";
  EXPECT_EQ(text({10, 11, 12}), you);
  EXPECT_EQ(text({13, 10, 11, 12, 10, 11}), bad + you + bad + bad);
  EXPECT_EQ(text({10, 11, 3}), bad + bad + "a");
  EXPECT_EQ(text({10, 10, 11, 12, 3}), bad + you + "a");
}

TEST(SentencePieceFile, ConfigNamesControlTokens) {
  auto spec = tokenizer_spec_of_sentencepiece("m", small_model()).value();
  ASSERT_TRUE(add_tokenizer_config(spec, "tokenizer_config.json", R"({
      "bos_token": "<s>", "added_tokens_decoder": {
        "6": {"content": "<|u|>", "special": true}, "12": {"content": "<|new|>", "special": true},
        "13": {"content": "<t>", "special": false}}})"));
  const auto t = Tokenizer::create(std::move(spec));
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)->encode("<|u|><|new|><t>", {false, true}).value(), (Ids{6, 12, 13}));
  EXPECT_EQ((*t)->encode("<|u|>", {false, false}).value(), (Ids{7, 0}));
  EXPECT_TRUE((*t)->is_special(12));
  auto bad = tokenizer_spec_of_sentencepiece("m", small_model()).value();
  for (const char* key : {"-1", "x", "99999999999", "1x", "9999999"}) {
    EXPECT_FALSE(add_tokenizer_config(
        bad, "c", std::string(R"({"added_tokens_decoder": {")") + key + R"(": {"content": "x"}}})"))
        << key;
  }
}

TEST(SentencePieceFile, BadFilesAreErrors) {
  EXPECT_EQ(message(""), "m: expected a SentencePiece model, found one without pieces");
  EXPECT_EQ(message("IGZvbyA= 0\n"),  // a tiktoken file, which is also called tokenizer.model
            "m: expected a SentencePiece model, found one without pieces");
  EXPECT_EQ(message("\x0F"), "m: expected a SentencePiece model, found a field of wire type 7");
  EXPECT_EQ(message(small_model(3)),
            "m: trainer_spec.model_type: expected UNIGRAM (1) or BPE (2), found 3");
  EXPECT_EQ(message(piece("\xFF", 0, 1)),
            "m: piece 0: expected UTF-8, a finite score and a known type, found type 1");
  EXPECT_EQ(message(piece("a", 0, 9)),
            "m: piece 0: expected UTF-8, a finite score and a known type, found type 9");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(message(piece("a", nan, 1)).find("finite"), std::string::npos);
  EXPECT_EQ(message("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
            "m: expected a number of at most ten bytes");
  EXPECT_EQ(message("\x0A\x7F\x01"), "m: expected 127 more bytes, found 1");
}

TEST(SentencePieceFile, CutAtEveryByte) {
  const std::string model = small_model();
  for (size_t size = 0; size < model.size(); size++) {
    const auto made = open(std::string_view(model).substr(0, size));
    if (made) (*made)->encode("ab </s> <|u|>", {true, true}).value();
  }
}

}  // namespace
}  // namespace mlxcel
