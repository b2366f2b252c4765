// "%s and %d" % values.
#include <algorithm>
#include <cmath>

#include "text/template/chars.h"
#include "text/template/format_number.h"
#include "text/template/runtime.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

class Percent {
 public:
  Percent(Runtime& rt, const Text& format, const Value& values)
      : rt_(rt), format_(format), s_(format.bytes()), values_(values) {}

  Result<Text> run() {
    while (at_ < s_.size()) {
      const size_t percent = std::min(s_.find('%', at_), s_.size());
      out_.append(format_, at_, percent);
      at_ = percent;
      if (at_ < s_.size()) TRY_OK(conversion());
      if (out_.size() > rt_.limits().string_bytes) return rt_.fail("a string grows too long");
    }
    const bool many = values_.is_tuple();
    if (many && next_ < values_.seq()->items.size()) return left_over();
    if (!many && next_ == 0 && !mapped_ && !values_.dict() && !values_.is_list())
      return left_over();
    return std::move(out_);
  }

 private:
  Error left_over() const {
    return rt_.fail("not all arguments converted during string formatting");
  }

  Result<Value> take() {
    if (mapped_) return mapped_value_;
    if (!values_.is_tuple()) {
      if (next_++ > 0) return rt_.fail("not enough arguments for format string");
      return values_;
    }
    if (next_ >= values_.seq()->items.size())
      return rt_.fail("not enough arguments for format string");
    return values_.seq()->items[next_++];
  }

  Status key() {
    if (at_ >= s_.size() || s_[at_] != '(') return Ok{};
    const size_t end = s_.find(')', at_);
    if (end == std::string::npos) return rt_.fail("incomplete format key");
    if (!values_.dict()) return rt_.fail("format requires a mapping");
    const std::string name = s_.substr(at_ + 1, end - at_ - 1);
    const Value* v = values_.dict()->find(name);
    if (!v) return rt_.fail(cat("the mapping has no key '", name, "'"));
    mapped_ = true;
    mapped_value_ = *v;
    at_ = end + 1;
    return Ok{};
  }

  Result<int64_t> number() {
    if (at_ < s_.size() && s_[at_] == '*') {
      at_++;
      TRY(Value v, take());
      if (!v.integer()) return rt_.fail("* wants int");
      return *v.integer();
    }
    int64_t n = 0;
    while (at_ < s_.size() && s_[at_] >= '0' && s_[at_] <= '9' && n < 100'000'000)
      n = n * 10 + (s_[at_++] - '0');
    return n;
  }

  Status conversion() {
    at_++;
    TRY_OK(key());
    bool left = false, zero = false;
    NumberFormat f;
    for (; at_ < s_.size(); at_++) {
      const char c = s_[at_];
      if (c == '-') {
        left = true;
      } else if (c == '0') {
        zero = true;
      } else if (c == '#') {
        f.alternate = true;
      } else if (c == '+' || (c == ' ' && f.sign != '+')) {
        f.sign = c;
      } else if (c != ' ') {
        break;
      }
    }
    TRY(int64_t width, number());
    if (width < 0) {
      left = true;
      width = -width;
    }
    std::optional<int64_t> precision;
    if (at_ < s_.size() && s_[at_] == '.') {
      at_++;
      TRY(precision, number());
    }
    while (at_ < s_.size() && (s_[at_] == 'h' || s_[at_] == 'l' || s_[at_] == 'L')) at_++;
    if (at_ >= s_.size()) return rt_.fail("incomplete format");
    f.type = s_[at_++];
    if (f.type == '%') {
      out_.append("%");
      return Ok{};
    }
    TRY(Value v, take());
    std::string sign;
    TRY(Text body, convert(v, f, precision, sign));
    const bool number =
        !sign.empty() || std::string_view("diuxXoeEfFgG").find(f.type) != std::string_view::npos;
    return add(sign, body, width, left, zero && number);
  }

  Status add(const std::string& sign, const Text& body, int64_t width, bool left, bool zero) {
    Text whole(sign);
    const int64_t rest = width - static_cast<int64_t>(sign.size());
    if (zero && !left) {
      TRY(Text padded, pad_text(rt_, body, rest, Text("0"), Padding::kRight));
      whole.append(padded);
    } else {
      whole.append(body);
      TRY(whole, pad_text(rt_, whole, width, Text(" "), left ? Padding::kLeft : Padding::kRight));
    }
    out_.append(whole);
    return Ok{};
  }

  Result<Text> convert(const Value& v, NumberFormat& f, std::optional<int64_t> precision,
                       std::string& sign) {
    if (f.type == 's' || f.type == 'r' || f.type == 'a') {
      TRY(Text t, f.type == 's' ? to_text(rt_, v) : to_repr(rt_, v));
      return precision
                 ? t.slice(0, byte_of_code_point(
                                  t.bytes(), static_cast<size_t>(std::max<int64_t>(*precision, 0))))
                 : t;
    }
    if (f.type == 'c') {
      if (v.string() && count_code_points(v.string()->text.bytes()) == 1) return v.string()->text;
      if (v.integer() && *v.integer() >= 0 && *v.integer() < 0xd800) {
        std::string c;
        append_utf8(c, static_cast<char32_t>(*v.integer()));
        return Text(c);
      }
      return rt_.fail("%c requires int or char");
    }
    if (v.is_undefined()) return rt_.fail(v.undefined()->message);
    const bool integer = std::string_view("diuxXo").find(f.type) != std::string_view::npos;
    if (!integer && std::string_view("eEfFgG").find(f.type) == std::string_view::npos)
      return rt_.fail(cat("unsupported format character '", f.type, "'"));
    if (!v.as_number())
      return rt_.fail(cat("%", f.type, " format: a number is required, not ", type_name(v)));
    if (!integer) {
      f.precision = static_cast<int>(std::clamp<int64_t>(precision.value_or(6), 0, 1000));
      const double d = *v.as_number();
      sign = sign_of(std::signbit(d) && !std::isnan(d), f);
      return Text(format_magnitude(std::fabs(d), f));
    }
    const bool decimal = f.type == 'd' || f.type == 'i' || f.type == 'u';
    if (!v.as_integer() && (!decimal || !(std::fabs(*v.number()) < 0x1p63)))
      return rt_.fail(cat("%", f.type, " format: an integer is required, not ", type_name(v)));
    const int64_t i = v.as_integer() ? *v.as_integer() : static_cast<int64_t>(*v.number());
    if (decimal) f.type = 'd';
    sign = sign_of(i < 0, f);
    std::string digits =
        format_magnitude(i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i), f);
    if (precision && *precision > static_cast<int64_t>(digits.size()) && *precision < 100'000)
      digits.insert(0, static_cast<size_t>(*precision) - digits.size(), '0');
    return Text(digits);
  }

  Runtime& rt_;
  const Text& format_;
  const std::string& s_;
  const Value& values_;
  Text out_;
  size_t at_ = 0, next_ = 0;
  bool mapped_ = false;
  Value mapped_value_;
};

}  // namespace

Result<Text> format_percent(Runtime& rt, const Text& format, const Value& values) {
  return Percent(rt, format, values).run();
}

}  // namespace mlxcel::text
