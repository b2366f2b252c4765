#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "text/byte_level.h"
#include "text/end_ids.h"
#include "text/stop_strings.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Ids = std::vector<int32_t>;

// A byte-level vocabulary of just these tokens, given as bytes.
std::unique_ptr<Tokenizer> tokens_of(const std::vector<std::string>& tokens) {
  TokenizerSpec spec;
  for (const std::string& bytes : tokens) {
    spec.tokens.emplace_back();
    append_byte_level(spec.tokens.back(), bytes);
  }
  spec.pre_tokenizers = {{.kind = PreTokenizerSpec::Kind::kByteLevel}};
  spec.decoders = {{.kind = DecoderSpec::Kind::kByteLevel}};
  return std::move(*Tokenizer::create(std::move(spec)));
}

std::vector<std::string> deltas(const Tokenizer& tokenizer) {
  Detokenizer detokenizer(tokenizer);
  std::vector<std::string> out;
  for (size_t id = 0; id < tokenizer.vocab_size(); id++) {
    out.push_back(detokenizer.push(static_cast<int32_t>(id)));
  }
  out.push_back(detokenizer.flush());
  return out;
}

using Strings = std::vector<std::string>;

// Row S01.
TEST(Detokenizer, NeverHalfACharacter) {
  EXPECT_EQ(deltas(*tokens_of({"a", "\xF0\x9F", "\x8C\x8D", "b"})),
            (Strings{"a", "", "\xF0\x9F\x8C\x8D", "b", ""}));
  EXPECT_EQ(deltas(*tokens_of({"\xE4\xBD", "\xA0\xE5", "\xA5\xBD"})),
            (Strings{"", "\xE4\xBD\xA0", "\xE5\xA5\xBD", ""}));
}

TEST(Detokenizer, FamilyOneByteAToken) {
  const std::string family =
      "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7";
  Strings bytes;
  for (const char c : family) bytes.emplace_back(1, c);
  std::string text;
  for (const std::string& delta : deltas(*tokens_of(bytes))) {
    EXPECT_TRUE(is_utf8(delta));
    text += delta;
  }
  EXPECT_EQ(text, family);
}

TEST(Detokenizer, HalfACharacterAtTheEndIsReplaced) {
  EXPECT_EQ(deltas(*tokens_of({"a", "\xE4\xBD"})), (Strings{"a", "", "\xEF\xBF\xBD"}));
  EXPECT_EQ(deltas(*tokens_of({"\xE4", "a", "\xFF"})), (Strings{"",
                                                                "\xEF\xBF\xBD"
                                                                "a",
                                                                "\xEF\xBF\xBD", ""}));
}

TEST(Detokenizer, AnyBytesGiveTheSameTextHoweverCut) {
  Strings bytes;
  for (int b = 0; b < 256; b++) bytes.emplace_back(1, static_cast<char>(b));
  const auto t = tokens_of(bytes);
  std::mt19937 random(1);
  for (int round = 0; round < 2000; round++) {
    Ids ids;
    std::string raw;
    for (unsigned i = random() % 12; i > 0; i--) {
      static constexpr int kLikely[] = {0xE4, 0xBD, 0xA0, 0xF0, 0x9F, 0x8C, 0x8D, 0xED, 0xC2, 'a'};
      const int b = random() % 3 ? kLikely[random() % 10] : static_cast<int>(random() % 256);
      ids.push_back(b);
      raw += static_cast<char>(b);
    }
    Detokenizer detokenizer(*t);
    std::string text;
    for (const int32_t id : ids) {
      const std::string delta = detokenizer.push(id);
      EXPECT_TRUE(is_utf8(delta));
      text += delta;
    }
    text += detokenizer.flush();
    EXPECT_EQ(text, to_utf8(raw));
  }
}

// What a text shows with stop strings when it comes in these parts; "|" marks a match.
std::string stopped(const Strings& parts, const Strings& stops) {
  StopStrings stop(stops);
  std::string text;
  for (const std::string& part : parts) text += stop.push(part);
  text += stop.flush();
  return text + (stop.stopped() ? "|" : "");
}

// Row S03.
TEST(StopStrings, AcrossTokens) {
  EXPECT_EQ(stopped({"ABC", "DEF", "G", "HI", "JKL"}, {"DEFGHIJ"}), "ABC|");
  EXPECT_EQ(stopped({"The quick br", "own fox"}, {"own fox"}), "The quick br|");
  EXPECT_EQ(stopped({"ABCD", "E"}, {"zz", "CDE"}), "AB|");
  EXPECT_EQ(stopped({"DEFGHI"}, {"DEFGHIJ"}), "DEFGHI");
  EXPECT_EQ(stopped({"a", "\xF0\x9F\x8C\x8D", "b"}, {"\xF0\x9F\x8C\x8D"}), "a|");
  EXPECT_EQ(stopped({"aab"}, {"ab"}), "a|");
  EXPECT_EQ(stopped({"x"}, {}), "x");
  EXPECT_EQ(stopped({"x"}, {""}), "x");
}

TEST(StopStrings, HoldsBackNoMoreThanAPossibleMatch) {
  StopStrings stop({"abcd", "bx"});
  EXPECT_EQ(stop.push("zzab"), "zz");
  EXPECT_EQ(stop.push("c"), "");
  EXPECT_EQ(stop.push("e"), "abce");
  EXPECT_EQ(stop.push("ab"), "");
  EXPECT_EQ(stop.push("y"), "aby");
  EXPECT_EQ(stop.push("ab"), "");
  EXPECT_EQ(stop.push("x and more"), "a");
  EXPECT_EQ(stop.match(), 1);
  EXPECT_EQ(stop.push("more"), "");
  EXPECT_EQ(stop.flush(), "");
}

// Plain search: the stop that ends first; of those the one that begins first.
std::string cut_by_search(const std::string& text, const Strings& stops) {
  for (size_t end = 1; end <= text.size(); end++) {
    size_t begin = std::string::npos;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) {
        begin = std::min(begin, end - stop.size());
      }
    }
    if (begin != std::string::npos) return text.substr(0, begin) + "|";
  }
  return text;
}

TEST(StopStrings, EveryChunkingGivesTheSame) {
  std::mt19937 random(2);
  const auto word = [&](unsigned most) {
    std::string text;
    for (unsigned i = 1 + random() % most; i > 0; i--)
      text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 5000; round++) {
    const Strings stops{word(6), word(5), word(7)};
    Strings parts;
    std::string text;
    for (unsigned i = random() % 6; i > 0; i--) {
      parts.push_back(word(5));
      text += parts.back();
    }
    ASSERT_EQ(stopped(parts, stops), cut_by_search(text, stops)) << text;
  }
}

Config config_with(const char* where, const char* key, Config::Value value) {
  Config config(where);
  config.set(key, std::move(value));
  return config;
}

// Row S05.
TEST(EndIds, UnionOfAllPlaces) {
  TokenizerSpec spec;
  for (int i = 0; i < 200; i++) spec.tokens.push_back("t" + std::to_string(i));
  spec.tokens[50] = "<end_of_turn>";
  spec.tokens[51] = "</s>";  // not a control token here
  AddedToken turn{.id = 50, .content = "<end_of_turn>", .special = true};
  spec.added = {turn};
  spec.eos = 7;
  spec.eot = 8;
  const auto tokenizer = std::move(*Tokenizer::create(std::move(spec)));
  const Config generation =
      config_with("generation_config.json", "eos_token_id", Config::List{int64_t{1}, int64_t{106}});
  const Config plain = config_with("config.json", "eos_token_id", int64_t{1});
  const Config nested = config_with("config.json", "text_config.eos_token_id", int64_t{9});
  const Config* both[] = {&generation, &plain};
  EXPECT_EQ(end_ids(*tokenizer, both).value(), (std::set<int32_t>{1, 7, 8, 50, 106}));
  const Config* one[] = {&nested};
  EXPECT_EQ(end_ids(*tokenizer, one).value(), (std::set<int32_t>{7, 8, 9, 50}));
  EXPECT_EQ(end_ids(*tokenizer, {}).value(), (std::set<int32_t>{7, 8, 50}));
  const Config wrong = config_with("config.json", "eos_token_id", std::string("x"));
  const Config* bad[] = {&wrong};
  EXPECT_FALSE(end_ids(*tokenizer, bad));
}

}  // namespace
}  // namespace mlxcel
