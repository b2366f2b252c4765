// Tokens to messages: control tokens reach the parser as such, stop strings cut before it, and a
// stream's deltas join to the whole.
#include "chat/message_stream.h"

#include <gtest/gtest.h>

#include "text/byte_level.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Ids = std::vector<int32_t>;

// Ids 0 to 255 are the bytes.
std::unique_ptr<Tokenizer> byte_tokenizer(const std::vector<std::string>& controls) {
  TokenizerSpec spec;
  spec.where = "toy";
  for (const char16_t c : kByteToChar) {
    spec.tokens.emplace_back();
    append_utf8(spec.tokens.back(), c);
  }
  for (const std::string& text : controls) {
    AddedToken token;
    token.id = static_cast<int32_t>(spec.tokens.size());
    token.content = text, token.special = true;
    spec.tokens.push_back(text);
    spec.added.push_back(token);
  }
  spec.pre_tokenizers = {{.kind = PreTokenizerSpec::Kind::kByteLevel}};
  spec.decoders = {{.kind = DecoderSpec::Kind::kByteLevel}};
  auto made = Tokenizer::create(std::move(spec));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

class MessageStreamTest : public ::testing::Test {
 protected:
  Ids bytes(std::string_view text) const {
    Ids ids;
    for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
    return ids;
  }
  // "\1" to "\4" in `text` are the control tokens, everything else bytes.
  Ids ids(std::string_view text) const {
    Ids all = bytes(text);
    for (int32_t& id : all)
      if (id < 5) id += 255;
    return all;
  }
  MessageStream answer(const std::vector<std::string>& stops, bool in_reasoning = false) const {
    MessageOptions o;
    o.starts_in_reasoning = in_reasoning, o.calls = true;
    return {model_, stops, o};
  }
  MessageStream plain() const {
    MessageOptions o;
    o.parse = false;
    return {model_, {}, o};
  }
  // The message, and a check that the deltas say nothing else.
  text::ParsedMessage all(MessageStream a, const Ids& tokens) const {
    text::ParsedMessage m;
    for (const int32_t id : tokens) {
      if (a.stopped()) break;
      m.append(a.push(id));
    }
    m.append(a.finish());
    EXPECT_TRUE(a.finish().empty());
    return m;
  }

  MessageStreamTest() {
    TextModel text;
    text.tokenizer = byte_tokenizer({"<think>", "</think>", "<tool_call>", "<|end|>"});
    text.chat_template = "<tool_call>";
    model_ = std::move(*make_chat_model(std::move(text)));
  }
  ChatModel model_;
};

TEST_F(MessageStreamTest, TheTemplateTellsTheMarks) {
  EXPECT_EQ(model_.dialect, "hermes");
  EXPECT_EQ(model_.marks.size(), 3u);
}

TEST_F(MessageStreamTest, OnlyTheTokenIsTheMark) {
  const auto m = all(answer({}, true), ids("no </think> yet\2 42"));
  EXPECT_EQ(m.reasoning, "no </think> yet");
  EXPECT_EQ(m.content, "42");
}

TEST_F(MessageStreamTest, CallsComeWhole) {
  const auto m =
      all(answer({}), ids("\1hm\2\3{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>"));
  EXPECT_EQ(m.reasoning, "hm");
  EXPECT_EQ(m.content, "");
  ASSERT_EQ(m.calls.size(), 1u);
  EXPECT_EQ(m.calls[0].name, "f");
  EXPECT_EQ(m.calls[0].arguments, "{\"x\": 1}");
}

TEST_F(MessageStreamTest, OtherControlTokensAreNotShown) {
  EXPECT_EQ(all(answer({}), ids("a\4b")).content, "ab");
  EXPECT_EQ(all(plain(), ids("a\1\4b")).content, "ab");
}

TEST_F(MessageStreamTest, StopsCutTheTextAsTheModelWroteIt) {
  // The stop holds back "<think" three times and lets it go.
  EXPECT_EQ(all(answer({"<thinker", "END"}), ids("\1ab\2cENDd")).reasoning, "ab");
  EXPECT_EQ(all(answer({"<thinker", "END"}), ids("\1ab\2cENDd")).content, "c");
  EXPECT_EQ(all(answer({"nk>a"}), ids("x\1ab")).content, "x<thi");
  EXPECT_EQ(all(answer({"zz"}), ids("a\2z")).content, "az");
}

TEST_F(MessageStreamTest, HalfACharacterBeforeAMarkStaysOutsideIt) {
  const auto m = all(answer({}, true), ids("a\xE4\xBD\2\xE4\xBD\xA0"));
  EXPECT_EQ(m.reasoning, "a\xEF\xBF\xBD");
  EXPECT_EQ(m.content, "\xE4\xBD\xA0");
}

TEST_F(MessageStreamTest, SaysWhetherItReasons) {
  MessageStream a = answer({}, true);
  EXPECT_TRUE(a.in_reasoning());
  for (const int32_t id : ids("x\2")) a.push(id);
  EXPECT_FALSE(a.in_reasoning());
  EXPECT_FALSE(plain().in_reasoning());
}

}  // namespace
}  // namespace mlxcel
