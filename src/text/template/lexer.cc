#include "text/template/lexer.h"

#include <algorithm>
#include <charconv>

#include "base/cat.h"
#include "text/template/chars.h"

namespace mlxcel::text {

Error template_error(std::string_view name, int line, std::string_view what) {
  return Error{Code::kInvalid, cat(name, ":", line, ": ", what)};
}

namespace {

// Longest first.
constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

// One newline character for every line end; one at the very end is dropped.
std::string normalize_lines(std::string_view s, bool drop_last) {
  std::string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] == '\r') {
      out += '\n';
      if (i + 1 < s.size() && s[i + 1] == '\n') i++;
    } else {
      out += s[i];
    }
  }
  if (drop_last && !out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name)
      : source_(normalize_lines(source, true)), name_(name) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) TRY_OK(root());
    push(Lexeme::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Error fail(std::string_view what) const { return template_error(name_, line_, what); }
  bool here(std::string_view s) const { return source_.compare(at_, s.size(), s) == 0; }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void push(Lexeme type, std::string text, Value number = {}) {
    tokens_.push_back({type, line_, std::move(text), std::move(number)});
  }
  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                         source_.begin() + static_cast<ptrdiff_t>(to), '\n'));
    if (to > at_) line_starting_ = source_[to - 1] == '\n';
    at_ = to;
  }
  size_t skip_space(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!is_space(next_code_point(source_, next))) break;
      at = next;
    }
    return at;
  }

  // How much of the text [at_, tag) stays, given the sign behind the tag's opening.
  size_t keep_before(size_t tag, char sign, bool print) const {
    if (sign == '-') {
      size_t end = tag;
      while (end > at_) {
        size_t before = end;
        if (!is_space(previous_code_point(source_, before))) break;
        end = before;
      }
      return end;
    }
    if (sign == '+' || print) return tag;
    const size_t newline = tag == at_ ? std::string::npos : source_.rfind('\n', tag - 1);
    const bool has_newline = newline != std::string::npos && newline >= at_;
    if (!has_newline && !line_starting_) return tag;
    const size_t line = has_newline ? newline + 1 : at_;
    return skip_space(line) >= tag ? line : tag;
  }

  // The end of a tag that closes at `at_` with `close`: behind what whitespace control eats.
  // Nothing if no such end is here. `trim` drops a newline behind an unsigned end.
  size_t tag_end(size_t at, std::string_view close, bool plus, bool trim) const {
    const char sign = at < source_.size() ? source_[at] : '\0';
    if (sign == '-' && source_.compare(at + 1, close.size(), close) == 0)
      return skip_space(at + 1 + close.size());
    if (plus && sign == '+' && source_.compare(at + 1, close.size(), close) == 0)
      return at + 1 + close.size();
    if (source_.compare(at, close.size(), close) != 0) return std::string::npos;
    at += close.size();
    return trim && at < source_.size() && source_[at] == '\n' ? at + 1 : at;
  }

  void text_until(size_t tag, size_t keep) {
    if (keep > at_) push(Lexeme::kData, source_.substr(at_, keep - at_));
    advance(tag);
  }

  Status root() {
    size_t tag = at_;
    for (;; tag++) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        text_until(source_.size(), source_.size());
        return Ok{};
      }
      const char c = source_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
    }
    const char kind = source_[tag + 1];
    size_t inside = tag + 2;
    char sign = inside < source_.size() ? source_[inside] : '\0';
    if (sign == '-' || sign == '+') {
      inside++;
    } else {
      sign = '\0';
    }
    text_until(tag, keep_before(tag, sign, kind == '{'));
    if (kind == '#') return comment(inside);
    if (kind == '%') {
      if (const size_t body = raw_begin(inside); body != std::string::npos) return raw(body);
    }
    push(kind == '%' ? Lexeme::kBlockBegin : Lexeme::kPrintBegin, "");
    advance(inside);
    return code(kind == '%');
  }

  Status comment(size_t inside) {
    for (size_t at = inside; at < source_.size(); at++) {
      const size_t end = tag_end(at, "#}", true, true);
      if (end == std::string::npos) continue;
      advance(end);
      return Ok{};
    }
    if (inside >= source_.size()) {  // Jinja accepts a tag that is the last thing
      advance(source_.size());
      return Ok{};
    }
    return fail("Missing end of comment tag");
  }

  // Behind {% raw %}, or nothing if this is another tag.
  size_t raw_begin(size_t inside) const {
    size_t at = skip_space(inside);
    if (source_.compare(at, 3, "raw") != 0) return std::string::npos;
    return tag_end(skip_space(at + 3), "%}", false, false);
  }

  Status raw(size_t body) {
    advance(body);
    for (size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; tag++) {
      size_t inside = tag + 2;
      const char c = inside < source_.size() ? source_[inside] : '\0';
      const char sign = c == '-' || c == '+' ? c : '\0';
      if (sign) inside++;
      inside = skip_space(inside);
      if (source_.compare(inside, 6, "endraw") != 0) continue;
      const size_t end = tag_end(skip_space(inside + 6), "%}", true, true);
      if (end == std::string::npos) continue;
      text_until(tag, keep_before(tag, sign, false));
      advance(end);
      return Ok{};
    }
    if (at_ >= source_.size()) return Ok{};
    return fail("Missing end of raw directive");
  }

  Status code(bool block) {
    std::vector<char> open;
    while (at_ < source_.size()) {
      if (open.empty()) {
        const size_t end =
            block ? tag_end(at_, "%}", true, true) : tag_end(at_, "}}", false, false);
        if (end != std::string::npos) {
          push(block ? Lexeme::kBlockEnd : Lexeme::kPrintEnd, "");
          advance(end);
          return Ok{};
        }
      }
      TRY_OK(token(open));
    }
    return Ok{};  // the parser reports the missing end
  }

  Status token(std::vector<char>& open) {
    size_t next = at_;
    const char32_t c = next_code_point(source_, next);
    if (is_space(c)) {
      advance(skip_space(at_));
      return Ok{};
    }
    if (c >= '0' && c <= '9') return number();
    if (is_name_part(c)) return name(c);
    if (c == '\'' || c == '"') return string(static_cast<char>(c));
    for (std::string_view op : kOperators) {
      if (here(op)) return operation(op, open);
    }
    return fail(cat("unexpected char '", source_.substr(at_, next - at_), "'"));
  }

  Status operation(std::string_view op, std::vector<char>& open) {
    const char c = op.size() == 1 ? op[0] : '\0';
    if (c == '{') open.push_back('}');
    if (c == '(') open.push_back(')');
    if (c == '[') open.push_back(']');
    if (c == '}' || c == ')' || c == ']') {
      if (open.empty()) return fail(cat("unexpected '", op, "'"));
      if (open.back() != c) return fail(cat("unexpected '", op, "', expected '", open.back(), "'"));
      open.pop_back();
    }
    push(Lexeme::kOperator, std::string(op));
    advance(at_ + op.size());
    return Ok{};
  }

  Status name(char32_t first) {
    size_t end = at_;
    while (end < source_.size()) {
      size_t next = end;
      if (!is_name_part(next_code_point(source_, next))) break;
      end = next;
    }
    if (!is_name_start(first)) return fail("Invalid character in identifier");
    push(Lexeme::kName, source_.substr(at_, end - at_));
    advance(end);
    return Ok{};
  }

  // Digits with single underscores between them; the end of them.
  size_t digits(size_t at, std::string_view allowed = "0123456789") const {
    size_t end = at;
    while (end < source_.size()) {
      const size_t d = source_[end] == '_' && end > at ? end + 1 : end;
      if (d >= source_.size() || allowed.find(source_[d]) == std::string_view::npos) break;
      end = d + 1;
    }
    return end;
  }

  // The end of a float here, or nothing.
  size_t float_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return std::string::npos;
    const size_t whole = digits(at_);
    size_t end = whole;
    if (end < source_.size() && source_[end] == '.' && digits(end + 1) > end + 1)
      end = digits(end + 1);
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
        exponent++;
      if (digits(exponent) > exponent) return digits(exponent);
    }
    return end > whole ? end : std::string::npos;
  }

  Status number() {
    if (const size_t end = float_end(); end != std::string::npos) {
      std::string s = source_.substr(at_, end - at_);
      std::erase(s, '_');
      double d = 0;
      if (std::from_chars(s.data(), s.data() + s.size(), d).ec != std::errc{})
        return fail(cat("number out of range: ", s));
      push(Lexeme::kFloat, s, Value(d));
      advance(end);
      return Ok{};
    }
    int base = 10;
    size_t begin = at_, end = at_;
    const char marker = static_cast<char>(peek(1) | 0x20);
    if (peek() == '0' && (marker == 'x' || marker == 'o' || marker == 'b')) {
      base = marker == 'x' ? 16 : marker == 'o' ? 8 : 2;
      begin = at_ + 2;
      end = digits(begin, std::string_view("0123456789abcdefABCDEF")
                              .substr(0, base == 16 ? 22 : static_cast<size_t>(base)));
      if (end == begin) base = 10;
    }
    if (base == 10) {
      begin = at_;
      end = peek() == '0' ? digits(at_, "0") : digits(at_);
    }
    std::string s = source_.substr(begin, end - begin);
    std::erase(s, '_');
    int64_t i = 0;
    if (std::from_chars(s.data(), s.data() + s.size(), i, base).ec != std::errc{})
      return fail(cat("integer beyond 64 bits: ", s));
    push(Lexeme::kInteger, s, Value(i));
    advance(end);
    return Ok{};
  }

  Status string(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return fail(cat("unexpected char '", quote, "'"));
    TRY(std::string value, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
    push(Lexeme::kString, std::move(value));
    advance(end + 1);
    return Ok{};
  }

  // Python's string escapes. An unknown one keeps its backslash.
  Result<std::string> unescape(std::string_view s) const {
    constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    std::string out;
    for (size_t i = 0; i < s.size(); i++) {
      if (s[i] != '\\') {
        out += s[i];
        continue;
      }
      const char c = s[++i];
      if (const size_t k = kFrom.find(c); k != std::string_view::npos) {
        out += kTo[k];
      } else if (c == '\n') {
      } else if (c >= '0' && c <= '7') {
        const size_t n = std::min<size_t>(3, s.size() - i);
        i = code_escape(out, s, i, i + n, 8, 1) - 1;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const size_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        const size_t stop = code_escape(out, s, i + 1, std::min(s.size(), i + 1 + n), 16, n);
        if (stop == 0) return fail(cat("string escape \\", c, ": expected a character in hex"));
        i = stop - 1;
      } else if (c == 'N') {
        return fail("string escape \\N{...} is not supported");
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  // Appends the character whose code stands in [begin, end); its end, or 0 if there is none.
  static size_t code_escape(std::string& out, std::string_view s, size_t begin, size_t end,
                            int base, size_t least) {
    uint32_t code = 0;
    const auto last = std::from_chars(s.data() + begin, s.data() + end, code, base).ptr;
    const size_t stop = static_cast<size_t>(last - s.data());
    if (stop < begin + least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    append_utf8(out, code);
    return stop;
  }

  std::string source_;
  std::string_view name_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex_template(std::string_view source, std::string_view name) {
  if (!is_utf8(source)) return Error{Code::kInvalid, cat(name, ": expected UTF-8")};
  return Lexer(source, name).run();
}

}  // namespace mlxcel::text
