// Methods of str that test, search, pad and change case. Splitting is in string_split.cc.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/chars.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

const Text& me(const Value& self) { return self.string()->text; }

// A string method of a safe string gives a safe string.
R same_kind(Runtime& rt, const Value& self, Text t) {
  return rt.text(std::move(t), self.string()->markup);
}

// Mapping run by run is quicker than character by character.
R mapped(Runtime& rt, const Value& self, Text (*f)(const Text&), size_t bytes_a_step) {
  TRY_OK(rt.charge(me(self).size() / bytes_a_step + me(self).steps()));
  return same_kind(rt, self, f(me(self)));
}

R upper(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, upper_text, 8); }
R lower(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, lower_text, 8); }
R casefold(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, fold_case_text, 8); }
R title(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, title_text, 1); }
R swapcase(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, swap_case_text, 1); }
R capitalize(Runtime& rt, const Value& s, Bound&) { return mapped(rt, s, capitalize_text, 8); }

R strip_sides(Runtime& rt, const Value& self, Bound& a, bool left, bool right) {
  std::optional<std::string> chars;
  if (a.has(0) && !a[0].is_none()) {
    TRY(Text c, text_argument(rt, a, 0, "chars"));
    chars = c.bytes();
  }
  TRY_OK(rt.charge(me(self).size() / 64));
  return same_kind(rt, self, strip_text(me(self), chars, left, right));
}
R strip(Runtime& rt, const Value& s, Bound& a) { return strip_sides(rt, s, a, true, true); }
R lstrip(Runtime& rt, const Value& s, Bound& a) { return strip_sides(rt, s, a, true, false); }
R rstrip(Runtime& rt, const Value& s, Bound& a) { return strip_sides(rt, s, a, false, true); }

// The bytes [begin, end) that optional start and stop characters select; nothing if start is
// behind the end.
struct Window {
  size_t begin, end;
  int64_t start;  // in characters
};
Result<std::optional<Window>> window(Runtime& rt, const Text& t, const Bound& a, size_t first) {
  if (!a.has(first) && !a.has(first + 1)) return std::optional(Window{0, t.size(), 0});
  TRY_OK(rt.charge(t.size() / 16));
  const auto n = static_cast<int64_t>(count_code_points(t.bytes()));
  auto bound = [&](size_t i, int64_t otherwise) -> Result<int64_t> {
    if (!a.has(i) || a[i].is_none()) return otherwise;
    TRY(int64_t b, integer_argument(rt, a, i, "slice", otherwise));
    return b < 0 ? std::max<int64_t>(b + n, 0) : b;
  };
  TRY(const int64_t start, bound(first, 0));
  TRY(int64_t stop, bound(first + 1, n));
  stop = std::min(stop, n);
  if (start > stop) return std::optional<Window>();
  return std::optional(Window{byte_of_code_point(t.bytes(), static_cast<size_t>(start)),
                              byte_of_code_point(t.bytes(), static_cast<size_t>(stop)), start});
}

R affix(Runtime& rt, const Value& self, Bound& a, bool at_end) {
  std::vector<Value> options{a[0]};
  if (a[0].is_tuple()) options = a[0].seq()->items;
  TRY(const auto w, window(rt, me(self), a, 1));
  for (const Value& option : options) {
    if (!option.string())
      return rt.fail(cat(at_end ? "endswith" : "startswith",
                         " first arg must be str or a tuple of str, not ", type_name(option)));
    TRY_OK(rt.charge(option.weight()));
    if (!w) continue;
    const auto part = std::string_view(me(self).bytes()).substr(w->begin, w->end - w->begin);
    const std::string& wanted = option.string()->text.bytes();
    if (at_end ? part.ends_with(wanted) : part.starts_with(wanted)) return Value(true);
  }
  return Value(false);
}
R startswith(Runtime& rt, const Value& s, Bound& a) { return affix(rt, s, a, false); }
R endswith(Runtime& rt, const Value& s, Bound& a) { return affix(rt, s, a, true); }

// The character position of the argument, or -1.
Result<int64_t> position(Runtime& rt, const Value& self, Bound& a, bool from_end) {
  TRY(const Text wanted, text_argument(rt, a, 0, "sub"));
  TRY(const auto w, window(rt, me(self), a, 1));
  if (!w) return -1;
  const auto part = std::string_view(me(self).bytes()).substr(w->begin, w->end - w->begin);
  TRY_OK(rt.charge_search(part.size(), wanted.size()));
  const size_t at = from_end ? part.rfind(wanted.bytes()) : part.find(wanted.bytes());
  if (at == part.npos) return -1;
  return w->start + static_cast<int64_t>(count_code_points(part.substr(0, at)));
}

R find_(Runtime& rt, const Value& s, Bound& a) {
  TRY(const int64_t at, position(rt, s, a, false));
  return Value(at);
}
R rfind(Runtime& rt, const Value& s, Bound& a) {
  TRY(const int64_t at, position(rt, s, a, true));
  return Value(at);
}
R index(Runtime& rt, const Value& s, Bound& a) {
  TRY(const int64_t at, position(rt, s, a, false));
  return at < 0 ? R(rt.fail("substring not found")) : Value(at);
}
R rindex(Runtime& rt, const Value& s, Bound& a) {
  TRY(const int64_t at, position(rt, s, a, true));
  return at < 0 ? R(rt.fail("substring not found")) : Value(at);
}

R count(Runtime& rt, const Value& self, Bound& a) {
  TRY(const Text wanted, text_argument(rt, a, 0, "sub"));
  TRY(const auto w, window(rt, me(self), a, 1));
  if (!w) return Value(0);
  const auto part = std::string_view(me(self).bytes()).substr(w->begin, w->end - w->begin);
  TRY_OK(rt.charge_search(part.size(), wanted.size()));
  if (wanted.empty()) return Value(static_cast<int64_t>(count_code_points(part)) + 1);
  int64_t n = 0;
  for (size_t at = part.find(wanted.bytes()); at != part.npos;
       at = part.find(wanted.bytes(), at + wanted.size()))
    n++;
  return Value(n);
}

R replace(Runtime& rt, const Value& self, Bound& a) {
  TRY(const Text from, text_argument(rt, a, 0, "old"));
  TRY(const Text to, text_argument(rt, a, 1, "new"));
  TRY(const int64_t times, integer_argument(rt, a, 2, "count", -1));
  TRY(Text t, replace_text(rt, me(self), from, to, times));
  return same_kind(rt, self, std::move(t));
}

R removeprefix(Runtime& rt, const Value& self, Bound& a) {
  TRY(const Text p, text_argument(rt, a, 0, "prefix"));
  if (!me(self).bytes().starts_with(p.bytes())) return self;
  return same_kind(rt, self, me(self).slice(p.size(), me(self).size()));
}
R removesuffix(Runtime& rt, const Value& self, Bound& a) {
  TRY(const Text p, text_argument(rt, a, 0, "suffix"));
  if (!me(self).bytes().ends_with(p.bytes())) return self;
  return same_kind(rt, self, me(self).slice(0, me(self).size() - p.size()));
}

R join(Runtime& rt, const Value& self, Bound& a) {
  TRY(const auto items, iterate(rt, a[0]));
  Text out;
  for (size_t i = 0; i < items.size(); i++) {
    TRY_OK(rt.charge(1 + me(self).steps()));
    if (!items[i].string())
      return rt.fail(
          cat("sequence item ", i, ": expected str instance, ", type_name(items[i]), " found"));
    if (i > 0) out.append(me(self));
    out.append(items[i].string()->text);
    if (out.size() > rt.limits().string_bytes) return rt.fail("a string grows too long");
  }
  return same_kind(rt, self, std::move(out));
}

R pad(Runtime& rt, const Value& self, Bound& a, Padding where) {
  TRY(const int64_t width, integer_argument(rt, a, 0, "width", 0));
  Text fill(" ");
  if (a.has(1)) {
    TRY(fill, text_argument(rt, a, 1, "fillchar"));
  }
  TRY(Text t, pad_text(rt, me(self), width, fill, where));
  return same_kind(rt, self, std::move(t));
}
R center(Runtime& rt, const Value& s, Bound& a) { return pad(rt, s, a, Padding::kCenter); }
R ljust(Runtime& rt, const Value& s, Bound& a) { return pad(rt, s, a, Padding::kLeft); }
R rjust(Runtime& rt, const Value& s, Bound& a) { return pad(rt, s, a, Padding::kRight); }

R zfill(Runtime& rt, const Value& self, Bound& a) {
  TRY(const int64_t width, integer_argument(rt, a, 0, "width", 0));
  const bool sign = me(self).bytes().starts_with('-') || me(self).bytes().starts_with('+');
  const Text rest = me(self).slice(sign ? 1 : 0, me(self).size());
  TRY(Text t, pad_text(rt, rest, width - (sign ? 1 : 0), Text("0"), Padding::kRight));
  Text out = me(self).slice(0, sign ? 1 : 0);
  out.append(t);
  return same_kind(rt, self, std::move(out));
}

R expandtabs(Runtime& rt, const Value& self, Bound& a) {
  TRY(const int64_t size, integer_argument(rt, a, 0, "tabsize", 8));
  if (size > 1000) return rt.fail("expandtabs: expected at most 1000");
  TRY_OK(rt.charge(me(self).size() / 4));
  Text out;
  int64_t column = 0;
  for (size_t at = 0; at < me(self).size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(me(self).bytes(), at);
    if (c == '\t') {
      const int64_t n = size > 0 ? size - column % size : 0;
      out.append(std::string(static_cast<size_t>(n), ' '), me(self).is_content(begin));
      column += n;
      continue;
    }
    out.append(me(self), begin, at);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return same_kind(rt, self, std::move(out));
}

R all_are(Runtime& rt, const Value& self, bool (*test)(char32_t), bool if_empty = false) {
  const std::string& s = me(self).bytes();
  TRY_OK(rt.charge(s.size() / 8));
  if (s.empty()) return Value(if_empty);
  for (size_t at = 0; at < s.size();)
    if (!test(next_code_point(s, at))) return Value(false);
  return Value(true);
}
bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_ascii(char32_t c) { return c < 0x80; }

R isalnum(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_alnum); }
R isalpha(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_alpha); }
R isascii(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_ascii, true); }
R isdecimal(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_decimal); }
R isdigit(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_digit); }
R isnumeric(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_numeric); }
R isprintable(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_printable, true); }
R isspace(Runtime& rt, const Value& s, Bound&) { return all_are(rt, s, is_space); }
R isidentifier(Runtime& rt, const Value& s, Bound&) {
  const std::string& b = me(s).bytes();
  size_t at = 0;
  if (b.empty() || !is_name_start(next_code_point(b, at))) return Value(false);
  return all_are(rt, s, is_name_part);
}

R cased(Runtime& rt, const Value& self, bool upper) {
  const std::string& s = me(self).bytes();
  TRY_OK(rt.charge(s.size() / 8));
  bool some = false;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = next_code_point(s, at);
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return Value(false);
    some |= upper ? is_upper(c) : is_lower(c);
  }
  return Value(some);
}
R islower(Runtime& rt, const Value& s, Bound&) { return cased(rt, s, false); }
R isupper(Runtime& rt, const Value& s, Bound&) { return cased(rt, s, true); }
R istitle(Runtime& rt, const Value& self, Bound&) {
  const std::string& s = me(self).bytes();
  TRY_OK(rt.charge(s.size() / 8));
  bool some = false, cased_before = false;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = next_code_point(s, at);
    const bool up = is_upper(c) || is_title(c);
    if ((up && cased_before) || (is_lower(c) && !cased_before)) return Value(false);
    cased_before = up || is_lower(c);
    some |= cased_before;
  }
  return Value(some);
}

R format(Runtime& rt, const Value& self, Bound& a) {
  TRY_OK(rt.charge(me(self).size() / 8));
  TRY(Text t, format_braces(rt, me(self), a.raw));
  return same_kind(rt, self, std::move(t));
}

R format_map(Runtime& rt, const Value& self, Bound& a) {
  if (!a[0].dict()) return rt.fail("format_map: expected a mapping");
  TRY_OK(rt.charge(me(self).size() / 8 + a[0].dict()->items.size()));
  Args args;
  for (const auto& [key, value] : a[0].dict()->items)
    if (key.string()) args.named.emplace_back(key.string()->text.bytes(), value);
  TRY(Text t, format_braces(rt, me(self), args));
  return same_kind(rt, self, std::move(t));
}

R unsupported(Runtime& rt, const Value&, Bound&) {
  return rt.fail("this method of str is not supported");
}

constexpr Builtin kMethods[] = {
    {"capitalize", "", capitalize},
    {"casefold", "", casefold},
    {"center", "/!width fillchar", center},
    {"count", "/!sub start end", count},
    {"encode", "*", unsupported},
    {"endswith", "/!suffix start end", endswith},
    {"expandtabs", "tabsize", expandtabs},
    {"find", "/!sub start end", find_},
    {"format", "*", format},
    {"format_map", "/!mapping", format_map},
    {"index", "/!sub start end", index},
    {"isalnum", "", isalnum},
    {"isalpha", "", isalpha},
    {"isascii", "", isascii},
    {"isdecimal", "", isdecimal},
    {"isdigit", "", isdigit},
    {"isidentifier", "", isidentifier},
    {"islower", "", islower},
    {"isnumeric", "", isnumeric},
    {"isprintable", "", isprintable},
    {"isspace", "", isspace},
    {"istitle", "", istitle},
    {"isupper", "", isupper},
    {"join", "/!iterable", join},
    {"ljust", "/!width fillchar", ljust},
    {"lower", "", lower},
    {"lstrip", "/chars", lstrip},
    {"maketrans", "*", unsupported},
    {"removeprefix", "/!prefix", removeprefix},
    {"removesuffix", "/!suffix", removesuffix},
    {"replace", "/!old !new count", replace},
    {"rfind", "/!sub start end", rfind},
    {"rindex", "/!sub start end", rindex},
    {"rjust", "/!width fillchar", rjust},
    {"rstrip", "/chars", rstrip},
    {"startswith", "/!prefix start end", startswith},
    {"strip", "/chars", strip},
    {"swapcase", "", swapcase},
    {"title", "", title},
    {"translate", "*", unsupported},
    {"upper", "", upper},
    {"zfill", "/!width", zfill},
};

}  // namespace

std::span<const Builtin> string_methods() { return kMethods; }

}  // namespace mlxcel::text
