// The automaton finds what Oniguruma finds, for every pattern that real tokenizers have.
#include "text/split_automaton.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "text/pre_tokenizer_names.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

std::vector<std::string> real_patterns() {
  std::set<std::string> patterns;
  for (const char* name :
       {"llama-bpe",      "qwen2",  "qwen35",      "gpt-4o",     "gpt-2",    "deepseek-llm",
        "deepseek-coder", "falcon", "deepseek-v3", "tekken",     "kimi-k2",  "bailingmoe",
        "default",        "bloom",  "command-r",   "seed-coder", "viking",   "superbpe",
        "afmoe",          "youtu",  "chameleon",   "spark2_5",   "minicpm5", "laguna"}) {
    const NamedPreTokenizer named = pre_tokenizer_named(name).value();
    for (const PreTokenizerSpec& spec : named.pre_tokenizers) {
      if (spec.regex) patterns.insert(spec.pattern);
    }
  }
  return {patterns.begin(), patterns.end()};
}

std::vector<std::pair<size_t, size_t>> matches(const Regex& regex, std::string_view text) {
  std::vector<std::pair<size_t, size_t>> found;
  EXPECT_TRUE(for_each_match(regex, text, [&](Match m) { found.emplace_back(m.begin, m.end); }));
  return found;
}

// Both engines for one pattern: the table takes milliseconds to make.
struct Both {
  explicit Both(const std::string& pattern)
      : automaton(std::move(*Regex::compile(pattern))),
        oniguruma(std::move(*Regex::compile(pattern, Regex::Engine::kOniguruma))) {}

  void expect_same(const std::string& text) const {
    ASSERT_TRUE(automaton.has_automaton()) << automaton.pattern();
    ASSERT_EQ(matches(automaton, text), matches(oniguruma, text)) << automaton.pattern() << "\n"
                                                                  << text;
  }

  Regex automaton, oniguruma;
};

// Of every kind that the patterns tell apart, and beyond the table.
std::string random_text(std::mt19937& random, size_t chars) {
  static constexpr char32_t kChars[] = {
      'a',    'b',    'Z',    's',   't',    'l',     'L',     '1',     '7',   ' ',   ' ',
      '\n',   '\r',   '\t',   '\'',  '\'',   '.',     '-',     '/',     '_',   0xA0,  0x3000,
      0x17F,  0xDF,   0x301,  0x94D, 0x4E2D, 0x3042,  0xAC00,  0x5D0,   0x1C5, 0x2B0, 0xBD,
      0x2163, 0x2028, 0x200D, 0x85,  0xFF01, 0x1F600, 0x1D7CE, 0x20000, 0};
  std::string text;
  for (size_t i = 0; i < chars; i++) append_utf8(text, kChars[random() % std::size(kChars)]);
  return text;
}

TEST(SplitAutomaton, FindsWhatOnigurumaFinds) {
  std::mt19937 random(3);
  const auto patterns = real_patterns();
  int with_automaton = 0;
  for (const std::string& pattern : patterns) {
    const Both both(pattern);
    if (!both.automaton.has_automaton()) continue;
    with_automaton++;
    both.expect_same(random_text(random, 20000));
    for (size_t i = 0; i < 200; i++) both.expect_same(random_text(random, i % 20));
  }
  EXPECT_GE(with_automaton, 20) << "of " << patterns.size();
}

TEST(SplitAutomaton, EveryCharacter) {
  std::string text;
  for (char32_t c = 0; c < 0x20400; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    for (const char* before : {"a", " ", "'"}) {
      text += before;
      append_utf8(text, c);
    }
  }
  for (const char* name : {"llama-bpe", "gpt-4o", "qwen35", "gpt-2"}) {
    const NamedPreTokenizer named = pre_tokenizer_named(name).value();
    for (const PreTokenizerSpec& spec : named.pre_tokenizers) {
      if (spec.regex) Both(spec.pattern).expect_same(text);
    }
  }
}

// The first alternative that leads to a match is taken, not the longest.
TEST(SplitAutomaton, PrefersAsBacktrackingDoes) {
  std::mt19937 random(4);
  for (const char* pattern :
       {"a|ab", "ab|a", "(?:ab|a)?b", "a{2,3}|a", "a{2}", "a{1,}b?", "a*", "(a|b)c|ab", "a?a?aa",
        "(?i:'ll)?b|[^b]", "b(?=a)|a(?!b)", "a+(?!a)|a", "[ab&&[^b]]c?|\\x{62}", "", "a||b",
        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "ab|(?:a|)b"}) {
    const Both both(pattern);
    for (int i = 0; i < 200; i++) {
      std::string text;
      for (unsigned n = random() % 9; n > 0; n--) text += "aaabbc' \nlL"[random() % 11];
      both.expect_same(text);
    }
  }
}

TEST(SplitAutomaton, LeavesTheRestToOniguruma) {
  for (const char* pattern :
       {"a+?",        "a++",     "(a+)+",  "(a)\\1",   "^a",      "a$",       "\\ba",
        ".",          "(?<!a)b", "(?>a)b", "a{2,900}", "(?i:ss)", "(?i:[a])", "(?i:\xC3\x9F)",
        "[[:alpha:]", "\\X",     "\\R",    "(?:a|b)*", "(?i)a",   "(?=ab)a",  "\\p{L",
        "a{,3}"}) {
    EXPECT_EQ(SplitAutomaton::compile(pattern), nullptr) << pattern;
  }
}

}  // namespace
}  // namespace mlxcel
