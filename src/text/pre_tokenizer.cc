#include "text/pre_tokenizer.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "text/byte_level.h"
#include "text/regex.h"
#include "text/split.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Kind = PreTokenizerSpec::Kind;

// GPT-2's split, which ByteLevel does by itself.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Cuts at the matches of a regex.
class RegexSplit final : public PreTokenizer {
 public:
  RegexSplit(Regex regex, SplitBehavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  Status apply(Pieces& pieces) const override {
    std::vector<Span> out;
    std::vector<Part> parts;
    for (size_t i = 0; i < pieces.spans.size(); i++) {
      const size_t base = pieces.spans[i].begin;
      const std::string_view piece = pieces.piece(i);
      size_t done = 0;
      parts.clear();
      TRY_OK(for_each_match(regex_, piece, [&](Match m) {
        if (done != m.begin) parts.push_back({{base + done, base + m.begin}, invert_});
        parts.push_back({{base + m.begin, base + m.end}, !invert_});
        done = m.end;
      }));
      if (done != piece.size()) parts.push_back({{base + done, base + piece.size()}, invert_});
      append_split(parts, behavior_, out);
    }
    pieces.spans = std::move(out);
    return Ok{};
  }

 private:
  Regex regex_;
  SplitBehavior behavior_;
  bool invert_;
};

// Cuts at every character of a class.
class ClassSplit final : public PreTokenizer {
 public:
  ClassSplit(std::function<bool(char32_t)> in_class, SplitBehavior behavior)
      : in_class_(std::move(in_class)), behavior_(behavior) {}

  Status apply(Pieces& pieces) const override {
    std::vector<Span> out;
    std::vector<Part> parts;
    for (const Span& span : pieces.spans) {
      parts.clear();
      size_t done = span.begin;
      for (size_t at = span.begin; at < span.end;) {
        const Utf8Char c = decode_utf8(pieces.text, at);
        if (in_class_(c.code)) {
          if (done < at) parts.push_back({{done, at}, false});
          parts.push_back({{at, at + c.size}, true});
          done = at + c.size;
        }
        at += c.size;
      }
      if (done < span.end) parts.push_back({{done, span.end}, false});
      append_split(parts, behavior_, out);
    }
    pieces.spans = std::move(out);
    return Ok{};
  }

 private:
  std::function<bool(char32_t)> in_class_;
  SplitBehavior behavior_;
};

// Rebuilds the text piece by piece; a piece of a rewritten text is cut by append_spans or stays.
template <class Rewrite>
void rewrite(Pieces& pieces, Rewrite append_piece) {
  Pieces out;
  out.at_start = pieces.at_start;
  out.text.reserve(pieces.text.size() + pieces.text.size() / 2);
  out.spans.reserve(pieces.spans.size());
  for (size_t i = 0; i < pieces.spans.size(); i++) {
    const size_t begin = out.text.size();
    append_piece(pieces.piece(i), i == 0 && pieces.spans[0].begin == 0 && pieces.at_start,
                 out.text);
    if (out.text.size() > begin) out.spans.push_back({begin, out.text.size()});
  }
  pieces = std::move(out);
}

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(std::optional<Regex> regex, bool add_prefix_space, bool keep_bytes)
      : add_prefix_space_(add_prefix_space), keep_bytes_(keep_bytes) {
    if (regex) split_.emplace(std::move(*regex), SplitBehavior::kIsolated, false);
  }

  Status apply(Pieces& pieces) const override {
    if (add_prefix_space_) {
      rewrite(pieces, [](std::string_view piece, bool, std::string& out) {
        if (!piece.starts_with(' ')) out += ' ';
        out += piece;
      });
    }
    if (split_) TRY_OK(split_->apply(pieces));
    if (keep_bytes_) return Ok{};
    rewrite(pieces,
            [](std::string_view piece, bool, std::string& out) { append_byte_level(out, piece); });
    return Ok{};
  }

 private:
  std::optional<RegexSplit> split_;
  bool add_prefix_space_, keep_bytes_;
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(const PreTokenizerSpec& spec, Regex replacement)
      : replacement_(spec.replacement),
        scheme_(spec.scheme),
        cuts_(spec.split),
        split_(std::move(replacement), SplitBehavior::kMergedWithNext, false) {}

  Status apply(Pieces& pieces) const override {
    rewrite(pieces, [this](std::string_view piece, bool first, std::string& out) {
      const bool marked = piece.starts_with(' ') || piece.starts_with(replacement_);
      const bool wanted =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && first);
      if (wanted && !marked) out += replacement_;
      for (const char c : piece) {
        if (c == ' ') {
          out += replacement_;
        } else {
          out += c;
        }
      }
    });
    return cuts_ ? split_.apply(pieces) : Status(Ok{});
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool cuts_;
  RegexSplit split_;
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}

  Status apply(Pieces& pieces) const override {
    std::vector<Span> out;
    for (const Span& span : pieces.spans) {
      size_t begin = span.begin, chars = 0;
      for (size_t at = span.begin; at < span.end;) {
        at += utf8_size(pieces.text[at]);
        if (++chars % length_ == 0 || at == span.end) {
          out.push_back({begin, at});
          begin = at;
        }
      }
    }
    pieces.spans = std::move(out);
    return Ok{};
  }

 private:
  size_t length_;
};

// Digits in threes, counted from the right: what two patterns of tokenizer.json files say with a
// look to the end of the digits at each of them, which is quadratic.
class DigitThrees final : public PreTokenizer {
 public:
  // `cuts_around`: also where the digits begin and end.
  DigitThrees(Regex digits, bool cuts_around)
      : digits_(std::move(digits)), cuts_around_(cuts_around) {}

  Status apply(Pieces& pieces) const override {
    std::vector<Span> out;
    for (size_t i = 0; i < pieces.spans.size(); i++) {
      const size_t base = pieces.spans[i].begin;
      const std::string_view piece = pieces.piece(i);
      size_t done = 0;
      const auto cut = [&](size_t at) {
        if (at > done) out.push_back({base + done, base + at});
        done = std::max(done, at);
      };
      TRY_OK(for_each_match(digits_, piece, [&](Match m) {
        const auto left = [&](char c) { return !is_utf8_continuation(c); };
        const std::string_view run = piece.substr(m.begin, m.end - m.begin);
        auto count = static_cast<size_t>(std::count_if(run.begin(), run.end(), left));
        if (cuts_around_) cut(m.begin);
        for (size_t at = m.begin; at < m.end; at += utf8_size(piece[at])) {
          if (count-- % 3 == 0) cut(at);
        }
        if (cuts_around_) cut(m.end);
      }));
      cut(piece.size());
    }
    pieces.spans = std::move(out);
    return Ok{};
  }

 private:
  Regex digits_;
  bool cuts_around_;
};

// One after the other.
class Both final : public PreTokenizer {
 public:
  Both(std::unique_ptr<PreTokenizer> first, std::unique_ptr<PreTokenizer> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  Status apply(Pieces& pieces) const override {
    TRY_OK(first_->apply(pieces));
    return second_->apply(pieces);
  }

 private:
  std::unique_ptr<PreTokenizer> first_, second_;
};

std::unique_ptr<PreTokenizer> at_class(std::function<bool(char32_t)> in_class,
                                       SplitBehavior behavior) {
  return std::make_unique<ClassSplit>(std::move(in_class), behavior);
}

Result<std::unique_ptr<PreTokenizer>> at_regex(Result<Regex> regex, SplitBehavior behavior,
                                               bool invert) {
  if (!regex) return regex.error();
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<RegexSplit>(std::move(*regex), behavior, invert));
}

Result<std::unique_ptr<PreTokenizer>> split(const PreTokenizerSpec& spec) {
  const bool isolated = spec.regex && spec.behavior == SplitBehavior::kIsolated && !spec.invert;
  const bool threes = isolated && spec.pattern == R"((?=(\d{3})+(?!\d)))";
  if (threes || (isolated && spec.pattern == R"(\d{1,3}(?=(?:\d{3})*\b))")) {
    TRY(auto digits, Regex::compile(threes ? R"(\d+)" : R"((?<!\d)\d++(?!\w))"));
    return std::unique_ptr<PreTokenizer>(std::make_unique<DigitThrees>(std::move(digits), !threes));
  }
  return at_regex(spec.regex ? Regex::compile(spec.pattern) : Regex::literal(spec.pattern),
                  spec.behavior, spec.invert);
}

Result<std::unique_ptr<PreTokenizer>> byte_level(const PreTokenizerSpec& spec, bool keep_bytes) {
  std::optional<Regex> regex;
  if (spec.use_regex) {
    TRY(regex, Regex::compile(kGpt2Pattern));
  }
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<ByteLevel>(std::move(regex), spec.add_prefix_space, keep_bytes));
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer(const PreTokenizerSpec& spec,
                                                         bool keep_bytes) {
  switch (spec.kind) {
    case Kind::kSplit:
      return split(spec);
    case Kind::kByteLevel:
      return byte_level(spec, keep_bytes);
    case Kind::kMetaspace: {
      TRY(auto replacement, Regex::literal(spec.replacement));
      return std::unique_ptr<PreTokenizer>(
          std::make_unique<Metaspace>(spec, std::move(replacement)));
    }
    case Kind::kDigits:
      return at_class(is_numeric,
                      spec.individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
    case Kind::kPunctuation:
      return at_class(is_punctuation, spec.behavior);
    case Kind::kWhitespace:
      return at_regex(Regex::compile(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|)"
                                     R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)"),
                      SplitBehavior::kRemoved, true);
    case Kind::kWhitespaceSplit:
      return at_class(is_whitespace, SplitBehavior::kRemoved);
    case Kind::kBert:
      return std::unique_ptr<PreTokenizer>(
          std::make_unique<Both>(at_class(is_whitespace, SplitBehavior::kRemoved),
                                 at_class(is_punctuation, SplitBehavior::kIsolated)));
    case Kind::kFixedLength:
      if (spec.length == 0) {
        return Error{Code::kInvalid, "pre_tokenizer FixedLength: expected length >= 1, found 0"};
      }
      return std::unique_ptr<PreTokenizer>(std::make_unique<FixedLength>(spec.length));
    case Kind::kDelimiter:
      return at_regex(Regex::literal(spec.pattern), SplitBehavior::kRemoved, false);
  }
  return Error{Code::kUnsupported, "pre_tokenizer: unknown kind"};
}

}  // namespace mlxcel
