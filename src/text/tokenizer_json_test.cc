#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace mlxcel {
namespace {

std::string message(std::string_view file) {
  auto spec = tokenizer_spec_of_json("tokenizer.json", file);
  if (!spec) return spec.error().message;
  auto made = Tokenizer::create(std::move(*spec));
  return made ? "no error" : made.error().message;
}

TEST(TokenizerJson, BadFilesNameTheField) {
  EXPECT_EQ(message("{"), "tokenizer.json: expected JSON: incomplete JSON");
  EXPECT_EQ(message("[]"), "tokenizer.json: expected an object");
  EXPECT_EQ(message("{}"), "tokenizer.json.model: expected an object, found nothing");
  EXPECT_EQ(message(R"({"model":{"type":"X"}})"),
            "tokenizer.json.model: type \"X\" is not supported");
  EXPECT_EQ(message(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})"),
            "tokenizer.json.model.vocab: expected ids near 0 to 1, found -1");
  EXPECT_EQ(message(R"({"model":{"type":"BPE","vocab":{"a":2000000000},"merges":[]}})"),
            "tokenizer.json.model.vocab: expected ids near 0 to 1, found 2000000000");
  EXPECT_EQ(message(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["aa"]}})"),
            "tokenizer.json.model.merges[0]: expected two tokens");
  EXPECT_EQ(message(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})"),
            "tokenizer.json: merge 0: expected tokens of the vocabulary, found \"a\" + \"b\"");
  EXPECT_EQ(message(R"({"model":{"vocab":{"a":0}}})"),
            "tokenizer.json: WordPiece: expected an unknown token, found none");
  EXPECT_EQ(message(R"({"model":{"vocab":[["a",0]],"unk_id":7}})"),
            "tokenizer.json.model.unk_id: expected an id of the vocabulary, found int64");
  EXPECT_EQ(message(R"({"normalizer":{"type":"Magic"},"model":{"vocab":{},"merges":[]}})"),
            "tokenizer.json.normalizer: type \"Magic\" is not supported");
}

TEST(TokenizerJson, BadPatternsAreErrors) {
  const std::string text =
      message(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"},)"
              R"("model":{"vocab":{},"merges":[]}})");
  EXPECT_NE(text.find("expected Oniguruma syntax"), std::string::npos) << text;
}

constexpr const char* kSmall = R"({
  "added_tokens": [{"id": 2, "content": "<s>", "special": true},
                   {"id": 3, "content": "</s>", "special": true}],
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"ids": [2]}}},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})";

TEST(TokenizerJson, ConfigDecidesWhatFramesAText) {
  auto spec = tokenizer_spec_of_json("tokenizer.json", kSmall).value();
  EXPECT_EQ(spec.prefix, std::vector<int32_t>{2});
  EXPECT_TRUE(
      add_tokenizer_config(spec, "tokenizer_config.json", R"({"bos_token": {"content": "<s>"},
      "eos_token": "</s>", "add_bos_token": false, "add_eos_token": true,
      "chat_template": [{"name": "default", "template": "x"}, {"name": "rag", "template": "y"}]})"));
  EXPECT_EQ(spec.bos, 2);
  EXPECT_EQ(spec.eos, 3);
  EXPECT_EQ(spec.prefix, std::vector<int32_t>{});
  EXPECT_EQ(spec.suffix, std::vector<int32_t>{3});
  EXPECT_EQ(spec.chat_template, "x");
  EXPECT_EQ(spec.chat_templates["rag"], "y");
}

}  // namespace
}  // namespace mlxcel
