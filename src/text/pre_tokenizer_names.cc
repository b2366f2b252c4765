#include "text/pre_tokenizer_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/cat.h"

namespace mlxcel {
namespace {

// Patterns are pieces of a raw string: R"(...)" without u8, so that escapes stay Oniguruma's.
#define CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define LETTERS R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define SYMBOLS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define BLANKS R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define UPPER_NOT_HAN R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
#define LOWER_NOT_HAN R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
#define BEFORE R"([^\r\n\p{L}\p{N}]?)"

constexpr const char* kLlama3 = CONTRACTIONS "|" LETTERS R"(|\p{N}{1,3}|)" SYMBOLS "|" BLANKS;
constexpr const char* kQwen2 = CONTRACTIONS "|" LETTERS R"(|\p{N}|)" SYMBOLS "|" BLANKS;
constexpr const char* kQwen35 =
    CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" BLANKS;
constexpr const char* kO200k =
    BEFORE UPPER "*" LOWER "+" CONTRACTIONS "?|" BEFORE UPPER "+" LOWER "*" CONTRACTIONS
                 R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BLANKS;
constexpr const char* kTekken = BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER
                                             R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BLANKS;
constexpr const char* kKimi = R"([\p{Han}]+|)" BEFORE UPPER_NOT_HAN "*" LOWER_NOT_HAN
                              "+" CONTRACTIONS "?|" BEFORE UPPER_NOT_HAN "+" LOWER_NOT_HAN
                              "*" CONTRACTIONS R"(?|\p{N}{1,3}|)" SYMBOLS "|" BLANKS;
constexpr const char* kSeedCoder =
    CONTRACTIONS "|" LETTERS R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" BLANKS;
constexpr const char* kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|)" BLANKS;
constexpr const char* kDeepseek3Cjk = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
// The letters with case of Unicode 13.
constexpr const char* kDeepseekLetters =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
    R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77})"
    R"(\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d})"
    R"(\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe})"
    R"(\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec})"
    R"(\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
    R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
    R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf})"
    R"(\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f})"
    R"(\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943}]+)";
constexpr const char* kDeepseekMarks =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";
// "\s+$" tries every blank of a run; this is the same language without that.
constexpr const char* kBlanksAtEnd = R"((?<!\s)\s++$)";
constexpr const char* kDeepseekCjk = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";
constexpr const char* kBloom =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";
constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr const char* kJais2 =
    CONTRACTIONS "|" LETTERS R"(|\p{N}{1,3}|)" SYMBOLS
                 R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|)"
                 R"(\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr const char* kSpark =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kYoutuScripts =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|)"
    R"([\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c})"
    R"(\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)"
    R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr const char* kYoutu =
    BEFORE UPPER "*" LOWER "+" CONTRACTIONS "?|" BEFORE UPPER "+" LOWER "*" CONTRACTIONS
                 R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" BLANKS;
constexpr const char* kExaoneMoe =
    CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* kUfakzeka = LETTERS R"(|\p{N}|)" SYMBOLS "|" BLANKS;
constexpr const char* kMinicpm5 = CONTRACTIONS "|" LETTERS R"(|\p{N}+|)" SYMBOLS "|" BLANKS;
constexpr const char* kLines = R"([^\n]+|[\n]+)";
constexpr const char* kAfmoeScripts =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{8c48}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff})"
    R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff})"
    R"(\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";
// Digits in threes, counted from the right (pre_tokenizer.cc does these two without backtracking).
constexpr const char* kThrees = R"((?=(\d{3})+(?!\d)))";
constexpr const char* kThreesOfWords = R"(\d{1,3}(?=(?:\d{3})*\b))";

using Kind = PreTokenizerSpec::Kind;

PreTokenizerSpec split(std::string pattern) {
  PreTokenizerSpec spec{.kind = Kind::kSplit};
  spec.pattern = std::move(pattern);
  spec.regex = true;
  return spec;
}

PreTokenizerSpec byte_level(bool use_regex) {
  PreTokenizerSpec spec{.kind = Kind::kByteLevel};
  spec.use_regex = use_regex;
  return spec;
}

PreTokenizerSpec digits(bool individual) {
  PreTokenizerSpec spec{.kind = Kind::kDigits};
  spec.individual = individual;
  return spec;
}

PreTokenizerSpec punctuation_runs() {
  PreTokenizerSpec spec{.kind = Kind::kPunctuation};
  spec.behavior = SplitBehavior::kContiguous;
  return spec;
}

// Splits one after the other, then bytes.
std::vector<PreTokenizerSpec> splits(std::initializer_list<const char*> patterns) {
  std::vector<PreTokenizerSpec> specs;
  for (const char* pattern : patterns) specs.push_back(split(pattern));
  specs.push_back(byte_level(false));
  return specs;
}

bool is(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

NamedPreTokenizer nfc(NamedPreTokenizer named) {
  named.normalizers.push_back({.kind = NormalizerSpec::Kind::kNfc});
  return named;
}

// Those of GPT-2's and of Llama 3's kin: one pattern.
std::optional<NamedPreTokenizer> one_pattern(std::string_view name) {
  if (is(name, {"gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "modern-bert", "jais",
                "trillion", "granite-docling", "exaone4", "roberta-bpe", "jina-es", "jina-de",
                "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code"})) {
    return NamedPreTokenizer{.pre_tokenizers = {byte_level(true)}};
  }
  if (is(name, {"mpt", "olmo"})) return nfc({.pre_tokenizers = {byte_level(true)}});
  if (is(name, {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
                "lfm2", "jina-v5-nano"})) {
    return NamedPreTokenizer{
        .pre_tokenizers = splits({kLlama3}), .ignore_merges = true, .add_bos = true};
  }
  if (is(name, {"dbrx", "smaug-bpe", "chatglm-bpe"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kLlama3})};
  }
  if (is(name, {"glm4", "glm5"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kLlama3}), .ignore_merges = true};
  }
  if (name == "qwen2") return nfc({.pre_tokenizers = splits({kQwen2})});
  if (name == "qwen35") return NamedPreTokenizer{.pre_tokenizers = splits({kQwen35})};
  if (is(name, {"deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "hunyuan", "solar-open", "grok-2",
                "stablelm2"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kQwen2})};
  }
  if (is(name, {"gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kO200k})};
  }
  if (name == "granite-embed-multi-97m") {
    return NamedPreTokenizer{.pre_tokenizers = splits({kO200k}), .ignore_merges = true};
  }
  if (name == "jais-2") return NamedPreTokenizer{.pre_tokenizers = splits({kJais2})};
  if (name == "exaone-moe") return NamedPreTokenizer{.pre_tokenizers = splits({kExaoneMoe})};
  if (name == "ufakzeka") return NamedPreTokenizer{.pre_tokenizers = splits({kUfakzeka})};
  if (name == "tekken") {
    return NamedPreTokenizer{
        .pre_tokenizers = splits({kTekken}), .ignore_merges = true, .add_bos = true};
  }
  if (name == "kimi-k2") return NamedPreTokenizer{.pre_tokenizers = splits({kKimi})};
  if (name == "seed-coder") return NamedPreTokenizer{.pre_tokenizers = splits({kSeedCoder})};
  if (is(name, {"bailingmoe", "bailingmoe2", "llada-moe"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kBailing})};
  }
  if (is(name, {"poro-chat", "bloom", "gpt3-finnish"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kBloom})};
  }
  return std::nullopt;
}

// Those with several stages.
std::optional<NamedPreTokenizer> several_stages(std::string_view name) {
  if (is(name, {"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"})) {
    return NamedPreTokenizer{.pre_tokenizers = {digits(true), byte_level(true)}};
  }
  if (name == "command-r") return nfc({.pre_tokenizers = {digits(true), byte_level(true)}});
  if (name == "falcon") {
    return NamedPreTokenizer{.pre_tokenizers = {punctuation_runs(), byte_level(true), digits(false),
                                                split("[0-9][0-9][0-9]")}};
  }
  if (name == "deepseek-llm") {
    return NamedPreTokenizer{.pre_tokenizers =
                                 splits({R"([\r\n])", kDeepseekLetters, kDeepseekMarks,
                                         kBlanksAtEnd, kDeepseekCjk, R"(\p{N}+)"})};
  }
  if (name == "deepseek-coder") {
    return NamedPreTokenizer{.pre_tokenizers = splits({R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                                       kDeepseekCjk, R"(\p{N})"})};
  }
  if (is(name, {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"})) {
    return NamedPreTokenizer{.pre_tokenizers =
                                 splits({R"(\p{N}{1,3})", kDeepseek3Cjk, kDeepseek3})};
  }
  if (name == "viking") return NamedPreTokenizer{.pre_tokenizers = splits({kBloom, R"(\p{N})"})};
  if (name == "spark2_5") {
    return NamedPreTokenizer{.pre_tokenizers =
                                 splits({R"(\p{N}{1,3})", kDeepseek3Cjk, kSpark, R"(\p{N})"})};
  }
  if (name == "youtu") {
    return NamedPreTokenizer{.pre_tokenizers = splits({kYoutuScripts, kYoutu}),
                             .ignore_merges = true};
  }
  if (is(name, {"tiny_aya", "cohere2moe"})) {
    return NamedPreTokenizer{.pre_tokenizers = splits({kThreesOfWords, kO200k})};
  }
  if (name == "superbpe") {
    return NamedPreTokenizer{.pre_tokenizers = splits({R"(\p{N}+)", kThrees})};
  }
  if (name == "afmoe") {
    return NamedPreTokenizer{.pre_tokenizers =
                                 splits({R"(\p{N}+)", kThrees, kAfmoeScripts, kDeepseek3})};
  }
  if (name == "laguna") return NamedPreTokenizer{.pre_tokenizers = splits({kLines, kQwen2})};
  if (name == "minicpm5") {
    return NamedPreTokenizer{.pre_tokenizers = splits({R"(\p{N}{1,3})", kMinicpm5}),
                             .ignore_merges = true};
  }
  if (name == "chameleon") {
    return NamedPreTokenizer{
        .pre_tokenizers = {split("<sentinel:[0-9]+>"), split("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
                           split(R"(([\t\n]|    |  ))"), split(R"(\p{N})"),
                           split(R"([\p{P}!-/:-@\[-`{-~])"), byte_level(true)},
        .add_bos = true};
  }
  if (name == "default") {
    return NamedPreTokenizer{.pre_tokenizers = splits({R"([\p{P}\$\+<=>\^~\|]+)", kGpt2,
                                                       R"(\p{N}+)", "[0-9][0-9][0-9]"})};
  }
  return std::nullopt;
}

}  // namespace

Result<NamedPreTokenizer> pre_tokenizer_named(std::string_view name) {
  if (name.empty()) name = "default";
  if (auto named = one_pattern(name)) return *named;
  if (auto named = several_stages(name)) return *named;
  return Error{Code::kUnsupported,
               cat("tokenizer.ggml.pre: expected a known pre-tokenizer, found \"", name, "\"")};
}

}  // namespace mlxcel
