// "{} and {name:>8}".format(...).
#include <algorithm>
#include <cmath>

#include "text/template/chars.h"
#include "text/template/format_number.h"
#include "text/template/numbers.h"
#include "text/template/runtime.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

constexpr int64_t kMaxWidth = 1'000'000;

struct Spec {
  Text fill{" "};
  char align = '\0';
  NumberFormat number;
  bool has_type = false;
  int64_t width = 0;
  std::optional<int64_t> precision;
};

class Braces {
 public:
  Braces(Runtime& rt, const Args& args) : rt_(rt), args_(args) {}

  // `nested`: the text is a format specification, in which fields may stand once more.
  Result<Text> run(const Text& format, bool nested) {
    const std::string& s = format.bytes();
    Text out;
    for (size_t at = 0; at < s.size();) {
      const char c = s[at];
      if (c != '{' && c != '}') {
        const size_t end = std::min(s.find_first_of("{}", at), s.size());
        out.append(format, at, end);
        at = end;
      } else if (!nested && at + 1 < s.size() && s[at + 1] == c) {
        out.append(format, at, at + 1);
        at += 2;
      } else if (c == '}') {
        return rt_.fail("Single '}' encountered in format string");
      } else {
        const size_t end = closing(s, at);
        if (end == std::string::npos) return rt_.fail("expected '}' before end of string");
        TRY(Text shown, field(format.slice(at + 1, end), nested));
        out.append(shown);
        at = end + 1;
      }
      if (out.size() > rt_.limits().string_bytes) return rt_.fail("a string grows too long");
    }
    return out;
  }

 private:
  static size_t closing(const std::string& s, size_t open) {
    int depth = 0;
    for (size_t at = open; at < s.size(); at++) {
      if (s[at] == '{') depth++;
      if (s[at] == '}' && --depth == 0) return at;
    }
    return std::string::npos;
  }

  Result<Text> field(const Text& text, bool nested) {
    TRY_OK(rt_.charge(1));
    const std::string& s = text.bytes();
    size_t end = 0;
    for (int brackets = 0; end < s.size(); end++) {
      if (s[end] == '[') brackets++;
      if (s[end] == ']') brackets--;
      if (brackets <= 0 && (s[end] == '!' || s[end] == ':')) break;
    }
    TRY(Value v, lookup(s.substr(0, end)));
    if (end < s.size() && s[end] == '!') {
      if (end + 1 >= s.size() || (end + 2 < s.size() && s[end + 2] != ':'))
        return rt_.fail("expected ':' after conversion specifier");
      const char conversion = s[end + 1];
      if (conversion != 's' && conversion != 'r' && conversion != 'a')
        return rt_.fail(cat("Unknown conversion specifier ", conversion));
      TRY(Text t, conversion == 's' ? to_text(rt_, v) : to_repr(rt_, v));
      TRY(v, rt_.text(std::move(t)));
      end += 2;
    }
    if (end >= s.size()) return show(v, Text());
    Text spec = text.slice(end + 1, s.size());
    if (spec.bytes().find_first_of("{}") != std::string::npos) {
      if (nested) return rt_.fail("Max string recursion exceeded");
      TRY(spec, run(spec, true));
    }
    return show(v, spec);
  }

  Result<Value> lookup(const std::string& path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    TRY(Value v, argument(path.substr(0, end)));
    for (size_t at = end; at < path.size();) {
      if (path[at] == '.') {
        const size_t stop = std::min(path.find_first_of(".[", at + 1), path.size());
        TRY(v, get_attribute(rt_, v, std::string_view(path).substr(at + 1, stop - at - 1)));
        at = stop;
      } else if (path[at] == '[') {
        const size_t stop = path.find(']', at);
        if (stop == std::string::npos) return rt_.fail("Missing ']' in format string");
        const std::string key = path.substr(at + 1, stop - at - 1);
        const auto index = parse_python_int(key, 10);
        TRY(v, get_item(rt_, v, index ? Value(*index) : make_string(key, false)));
        at = stop + 1;
      } else {
        return rt_.fail("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return v;
  }

  Result<Value> argument(const std::string& name) {
    const bool digits = name.find_first_not_of("0123456789") == name.npos;
    if (!digits) {
      for (const auto& [key, value] : args_.named)
        if (key == name) return value;
      return rt_.fail(cat("format: no argument '", name, "'"));
    }
    if (name.empty() ? manual_ : next_ > 0)
      return rt_.fail("cannot switch between automatic and manual field numbering");
    manual_ = !name.empty();
    const auto index = name.empty() ? std::optional<int64_t>(next_++) : parse_python_int(name, 10);
    if (!index || *index >= static_cast<int64_t>(args_.positional.size()))
      return rt_.fail("Replacement index out of range for positional args tuple");
    return args_.positional[static_cast<size_t>(*index)];
  }

  Result<Spec> parse(const Text& text) const {
    const std::string& s = text.bytes();
    Spec spec;
    size_t at = 0;
    auto is_align = [&](size_t i) {
      return i < s.size() && std::string_view("<>=^").find(s[i]) != std::string_view::npos;
    };
    const size_t first = s.empty() ? 0 : utf8_size(s[0]);
    if (first > 0 && is_align(first)) {
      spec.fill = text.slice(0, first);
      spec.align = s[first];
      at = first + 1;
    } else if (is_align(0)) {
      spec.align = s[0];
      at = 1;
    }
    if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) spec.number.sign = s[at++];
    if (at < s.size() && s[at] == '#') spec.number.alternate = at++ < s.size();
    if (at < s.size() && s[at] == '0') {
      if (!spec.align) {
        spec.align = '=';
        spec.fill = Text("0");
      }
      at++;
    }
    auto integer = [&]() {
      int64_t n = 0;
      while (at < s.size() && s[at] >= '0' && s[at] <= '9' && n <= kMaxWidth)
        n = n * 10 + (s[at++] - '0');
      return n;
    };
    spec.width = integer();
    if (at < s.size() && (s[at] == ',' || s[at] == '_')) spec.number.grouping = s[at++];
    if (at < s.size() && s[at] == '.') {
      at++;
      spec.precision = integer();
    }
    if (at < s.size()) {
      spec.number.type = s[at++];
      spec.has_type = true;
    }
    if (at < s.size() || spec.width > kMaxWidth) return rt_.fail("Invalid format specifier");
    return spec;
  }

  Result<Text> show(const Value& v, const Text& text) {
    if (text.empty()) return to_text(rt_, v);
    TRY(Spec spec, parse(text));
    if (v.as_number() && !(v.boolean() && !spec.has_type)) return show_number(v, spec);
    if (!v.string() && !v.boolean())
      return rt_.fail(cat("unsupported format string passed to ", type_name(v), ".__format__"));
    if ((spec.has_type && spec.number.type != 's') || spec.align == '=')
      return rt_.fail("Unknown format code for object of type 'str'");
    TRY(Text t, to_text(rt_, v));
    if (spec.precision)
      t = t.slice(0, byte_of_code_point(t.bytes(), static_cast<size_t>(*spec.precision)));
    return aligned("", t, spec, '<');
  }

  Result<Text> show_number(const Value& v, Spec& spec) {
    NumberFormat& f = spec.number;
    constexpr std::string_view kInteger = "dxXobcn", kFloat = "eEfFgG%";
    const bool as_float =
        (spec.has_type && kFloat.find(f.type) != kFloat.npos) || (!spec.has_type && v.number());
    if (!as_float) {
      if (!v.as_integer() || (spec.has_type && kInteger.find(f.type) == kInteger.npos) ||
          f.type == 'c' || f.type == 'n')
        return rt_.fail(
            cat("Unknown format code '", f.type, "' for object of type '", type_name(v), "'"));
      if (spec.precision) return rt_.fail("Precision not allowed in integer format specifier");
      const int64_t i = *v.as_integer();
      const auto magnitude = i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
      return aligned(sign_of(i < 0, f), Text(format_magnitude(magnitude, f)), spec, '>');
    }
    const double d = *v.as_number();
    std::string digits;
    if (!spec.has_type && !spec.precision) {
      digits = float_repr(std::fabs(d));
    } else {
      if (!spec.has_type) f.type = 'g';
      f.precision = static_cast<int>(std::min<int64_t>(spec.precision.value_or(6), 1000));
      digits = format_magnitude(std::fabs(d), f);
    }
    return aligned(sign_of(std::signbit(d) && !std::isnan(d), f), Text(digits), spec, '>');
  }

  Result<Text> aligned(const std::string& sign, const Text& body, const Spec& spec,
                       char otherwise) {
    const char align = spec.align ? spec.align : otherwise;
    Text whole(sign);
    if (align == '=') {
      TRY(Text padded, pad_text(rt_, body, spec.width - static_cast<int64_t>(sign.size()),
                                spec.fill, Padding::kRight));
      whole.append(padded);
      return whole;
    }
    whole.append(body);
    if (align != '^')
      return pad_text(rt_, whole, spec.width, spec.fill,
                      align == '<' ? Padding::kLeft : Padding::kRight);
    const auto n = static_cast<int64_t>(count_code_points(whole.bytes()));
    TRY(whole, pad_text(rt_, whole, n + std::max<int64_t>(spec.width - n, 0) / 2, spec.fill,
                        Padding::kRight));
    return pad_text(rt_, whole, spec.width, spec.fill, Padding::kLeft);
  }

  Runtime& rt_;
  const Args& args_;
  int64_t next_ = 0;
  bool manual_ = false;
};

}  // namespace

Result<Text> format_braces(Runtime& rt, const Text& format, const Args& args) {
  return Braces(rt, args).run(format, false);
}

}  // namespace mlxcel::text
