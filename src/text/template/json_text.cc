// JSON text -> Value: RFC 8259, with exactly rounded numbers and Python's NaN and Infinity left
// out. Depth is bounded.
#include <charconv>
#include <cmath>

#include "base/cat.h"
#include "text/template/chars.h"
#include "text/template/numbers.h"
#include "text/template/value.h"

namespace mlxcel::text {
namespace {

constexpr int kMaxDepth = 190;  // below the depth that a render accepts

class Reader {
 public:
  // `large`: integers may go beyond 64 bits (and come as the nearest float).
  Reader(std::string_view s, bool content, bool large) : s_(s), content_(content), large_(large) {}

  Result<Value> run() {
    TRY(Value v, value());
    blanks();
    if (at_ < s_.size()) return fail("the end");
    return v;
  }

 private:
  Error fail(std::string_view expected) const {
    const std::string found = at_ < s_.size() ? cat("'", s_.substr(at_, 1), "'") : "the end";
    return Error{Code::kInvalid,
                 cat("json: expected ", expected, " at byte ", at_, ", found ", found)};
  }
  void blanks() {
    while (at_ < s_.size() && std::string_view(" \t\n\r").find(s_[at_]) != std::string_view::npos)
      at_++;
  }
  bool take(std::string_view word) {
    if (!s_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Value> value() {
    blanks();
    if (take("null")) return none();
    if (take("true")) return Value(true);
    if (take("false")) return Value(false);
    const char c = at_ < s_.size() ? s_[at_] : '\0';
    if (c == '"') {
      TRY(std::string s, string());
      return make_string(s, content_);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    if (c != '[' && c != '{') return fail("a value");
    if (++depth_ > kMaxDepth) return fail(cat("at most ", kMaxDepth, " levels"));
    auto v = c == '[' ? array() : object();
    depth_--;
    return v;
  }

  Result<Value> array() {
    at_++;
    std::vector<Value> items;
    blanks();
    if (take("]")) return make_list({});
    for (;;) {
      TRY(Value v, value());
      items.push_back(std::move(v));
      blanks();
      if (take("]")) return make_list(std::move(items));
      if (!take(",")) return fail("',' or ']'");
    }
  }

  Result<Value> object() {
    at_++;
    std::vector<std::pair<Value, Value>> items;
    blanks();
    if (take("}")) return make_dict({});
    for (;;) {
      blanks();
      if (at_ >= s_.size() || s_[at_] != '"') return fail("a key");
      TRY(std::string key, string());
      blanks();
      if (!take(":")) return fail("':'");
      TRY(Value v, value());
      items.emplace_back(make_string(key, content_), std::move(v));
      blanks();
      if (take("}")) return make_dict(std::move(items));
      if (!take(",")) return fail("',' or '}'");
    }
  }

  Result<Value> number() {
    const size_t begin = at_;
    auto digits = [&]() {
      const size_t first = at_;
      while (at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '9') at_++;
      return at_ > first;
    };
    take("-");
    if (!take("0") && !digits()) return fail("a digit");
    bool integer = true;
    if (take(".")) {
      integer = false;
      if (!digits()) return fail("a digit");
    }
    if (take("e") || take("E")) {
      integer = false;
      if (!take("+")) take("-");
      if (!digits()) return fail("a digit");
    }
    const std::string_view text = s_.substr(begin, at_ - begin);
    const auto i = integer ? parse_python_int(text, 10) : std::nullopt;
    if (i) return Value(*i);
    if (!integer || large_) return Value(*parse_python_float(text));
    return Error{Code::kInvalid, cat("json: expected an integer of 64 bits, found ", text)};
  }

  Result<uint32_t> hex() {
    uint32_t code = 0;
    const char* end = s_.data() + std::min(at_ + 4, s_.size());
    const auto stop = std::from_chars(s_.data() + at_, end, code, 16).ptr;
    if (at_ + 4 > s_.size() || stop != end) return fail("four hex digits");
    at_ += 4;
    return code;
  }

  Status escape(std::string& out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    const char c = at_ < s_.size() ? s_[at_] : '\0';
    if (const size_t k = kFrom.find(c); c && k != kFrom.npos) {
      out += kTo[k];
      at_++;
      return Ok{};
    }
    if (!take("u")) return fail("an escape");
    TRY(uint32_t code, hex());
    if (code >= 0xd800 && code < 0xdc00 && take("\\u")) {
      TRY(const uint32_t low, hex());
      if (low < 0xdc00 || low > 0xdfff) return fail("the second half of a surrogate pair before");
      code = ((code - 0xd7c0) << 10) + (low & 0x3ff);
    }
    if (code >= 0xd800 && code < 0xe000) return fail("both halves of a surrogate pair before");
    append_utf8(out, code);
    return Ok{};
  }

  Result<std::string> string() {
    at_++;
    std::string out;
    for (;;) {
      size_t end = at_;
      while (end < s_.size() && s_[end] != '"' && s_[end] != '\\' &&
             static_cast<unsigned char>(s_[end]) >= 0x20)
        end++;
      out += s_.substr(at_, end - at_);
      at_ = end;
      if (take("\"")) return out;
      if (!take("\\")) return fail("'\"'");
      TRY_OK(escape(out));
    }
  }

  std::string_view s_;
  bool content_, large_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Value> value_from_json_text(std::string_view text, bool content) {
  if (!is_utf8(text)) return Error{Code::kInvalid, "json: expected UTF-8"};
  return Reader(text, content, false).run();
}

bool is_json_text(std::string_view text) {
  return is_utf8(text) && static_cast<bool>(Reader(text, true, true).run());
}

}  // namespace mlxcel::text
