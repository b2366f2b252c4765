#include "text/normalizer.h"

#include <functional>

#include "base/cat.h"
#include "text/byte_level.h"
#include "text/regex.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Kind = NormalizerSpec::Kind;

class Rewriter final : public Normalizer {
 public:
  explicit Rewriter(std::function<Result<std::string>(std::string)> rewrite)
      : rewrite_(std::move(rewrite)) {}
  Result<std::string> apply(std::string text) const override { return rewrite_(std::move(text)); }

 private:
  std::function<Result<std::string>(std::string)> rewrite_;
};

template <class Visit>
void for_each_char(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    visit(c.code, text.substr(at, c.size));
    at += c.size;
  }
}

Error too_long(size_t size) {
  return Error{Code::kExhausted, cat("normalizer Replace: expected a text of at most ",
                                     kMaxNormalized, " bytes, found ", size)};
}

class Replacer final : public Normalizer {
 public:
  Replacer(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  Result<std::string> apply(std::string text) const override {
    std::string out;
    size_t copied = 0, size = text.size();
    TRY_OK(for_each_match(regex_, text, [&](Match m) {
      size += content_.size();
      if (size > kMaxNormalized) return;
      out.append(text, copied, m.begin - copied);
      out += content_;
      copied = m.end;
    }));
    if (size > kMaxNormalized) return too_long(size);
    out.append(text, copied);
    return out;
  }

 private:
  Regex regex_;
  std::string content_;
};

Result<std::string> replace_literal(std::string text, const std::string& from,
                                    const std::string& to) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied);
    out += to;
    copied = at + from.size();
    if (out.size() > kMaxNormalized) return too_long(out.size());
  }
  if (copied == 0) return text;
  out.append(text, copied);
  return out;
}

std::string lower(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for_each_char(text, [&](char32_t c, std::string_view) { append_lower(out, c); });
  return out;
}

template <class Drop>
std::string without(std::string text, Drop drop) {
  std::string out;
  out.reserve(text.size());
  for_each_char(text, [&](char32_t c, std::string_view bytes) {
    if (!drop(c)) out += bytes;
  });
  return out;
}

std::string strip(const std::string& text, bool left, bool right) {
  size_t first = text.size(), last = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!is_whitespace(c.code)) {
      first = std::min(first, at);
      last = at + c.size;
    }
    at += c.size;
  }
  const size_t begin = left ? first : 0;
  const size_t end = right ? std::max(last, begin) : text.size();
  return text.substr(begin, end - begin);
}

std::string nmt(const std::string& text) {
  std::string out;
  for_each_char(text, [&](char32_t c, std::string_view bytes) {
    const bool drop = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                      c == 0x8F || c == 0x9F;
    if (drop) return;
    const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    out += blank ? std::string_view(" ") : bytes;
  });
  return out;
}

// BERT's own list of ideographs, with its hole between U+2B820 and U+2B920.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string bert(const std::string& text, const NormalizerSpec& spec) {
  std::string out;
  for_each_char(text, [&](char32_t c, std::string_view bytes) {
    if (spec.clean_text) {
      const bool blank = is_whitespace(c);
      const bool kept_control = c == '\t' || c == '\n' || c == '\r';
      if (c == 0 || c == kReplacement || (!kept_control && is_other(c))) return;
      if (blank) bytes = " ";
    }
    const bool spaced = spec.chinese && is_chinese(c);
    if (spaced) out += ' ';
    out += bytes;
    if (spaced) out += ' ';
  });
  if (spec.strip_accents) out = without(normalized(out, NormalForm::kNfd), is_nonspacing);
  if (spec.lowercase) out = lower(out);
  return out;
}

std::string collapse(const std::string& text) {
  std::string out;
  for (const char c : strip(text, true, true)) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

std::unique_ptr<Normalizer> rewriter(std::function<Result<std::string>(std::string)> rewrite) {
  return std::make_unique<Rewriter>(std::move(rewrite));
}

std::unique_ptr<Normalizer> form(NormalForm which) {
  return rewriter([which](const std::string& text) { return normalized(text, which); });
}

}  // namespace

Result<std::unique_ptr<Normalizer>> make_normalizer(const NormalizerSpec& spec) {
  switch (spec.kind) {
    case Kind::kNfc:
      return form(NormalForm::kNfc);
    case Kind::kNfd:
      return form(NormalForm::kNfd);
    case Kind::kNfkc:
      return form(NormalForm::kNfkc);
    case Kind::kNfkd:
      return form(NormalForm::kNfkd);
    case Kind::kLowercase:
      return rewriter(lower);
    case Kind::kStripAccents:
      return rewriter([](std::string text) { return without(std::move(text), is_mark); });
    case Kind::kStrip:
      return rewriter(
          [spec](const std::string& text) { return strip(text, spec.left, spec.right); });
    case Kind::kReplace: {
      if (!spec.regex && !spec.pattern.empty()) {
        return rewriter([spec](std::string text) {
          return replace_literal(std::move(text), spec.pattern, spec.content);
        });
      }
      TRY(auto regex, spec.regex ? Regex::compile(spec.pattern) : Regex::literal(spec.pattern));
      return std::unique_ptr<Normalizer>(
          std::make_unique<Replacer>(std::move(regex), spec.content));
    }
    case Kind::kPrepend:
      return rewriter(
          [spec](const std::string& text) { return text.empty() ? text : spec.content + text; });
    case Kind::kNmt:
      return rewriter(nmt);
    case Kind::kBert:
      return rewriter([spec](const std::string& text) { return bert(text, spec); });
    case Kind::kPrecompiled:
      return make_charsmap(spec.content);
    case Kind::kByteLevel:
      return rewriter([](const std::string& text) {
        std::string out;
        append_byte_level(out, text);
        return out;
      });
    case Kind::kCollapse:
      return rewriter(collapse);
    case Kind::kSentencePiece:
      return make_sentencepiece_normalizer(spec);
  }
  return Error{Code::kUnsupported, "normalizer: unknown kind"};
}

}  // namespace mlxcel
