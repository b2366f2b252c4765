// Filters on single values: defaults, numbers, strings made of them, JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/template/builtins.h"
#include "text/template/numbers.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

R abs_(Runtime& rt, const Value& v, Bound&) {
  if (const auto i = v.as_integer()) return *i < 0 ? negate(rt, v) : R(Value(*i));
  if (const auto d = v.number()) return Value(std::fabs(*d));
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  return rt.fail(cat("bad operand type for abs(): '", type_name(v), "'"));
}

R attr(Runtime& rt, const Value& v, Bound& a) {
  TRY(Text name, text_argument(rt, a, 0, "name"));
  if (v.dict() && v.dict()->find(name.bytes()) && !find_container_method("dict", name.bytes()))
    return rt.undefined(cat("'dict object' has no attribute '", name.bytes(), "'"));
  return get_attribute(rt, v, name.bytes());
}

R default_(Runtime& rt, const Value& v, Bound& a) {
  const bool boolean = a.has(1) && truthy(a[1]);
  if (!v.is_undefined() && !(boolean && !truthy(v))) return v;
  return a.has(0) ? R(a[0]) : rt.literal("");
}

R float_(Runtime& rt, const Value& v, Bound& a) {
  if (const auto d = v.as_number()) return Value(*d);
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  if (v.string()) {
    TRY_OK(rt.charge(v.string()->text.size() / 8));
    if (const auto d = parse_python_float(v.string()->text.bytes())) return Value(*d);
  }
  return a.has(0) ? R(a[0]) : R(Value(0.0));
}

R int_(Runtime& rt, const Value& v, Bound& a) {
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  if (const auto i = v.as_integer()) return Value(*i);
  const Value otherwise = a.has(0) ? a[0] : Value(0);
  TRY(const int64_t base, integer_argument(rt, a, 1, "base", 10));
  std::optional<double> d = v.number() ? std::optional(*v.number()) : std::nullopt;
  if (v.string()) {
    const std::string& s = v.string()->text.bytes();
    TRY_OK(rt.charge(s.size() / 8));
    if (const auto i = parse_python_int(s, static_cast<int>(base))) return Value(*i);
    d = parse_python_float(s);
    if (d && !std::isfinite(*d)) return otherwise;
  }
  if (!d) return otherwise;
  if (std::isnan(*d)) return otherwise;
  if (std::isinf(*d)) return rt.fail("cannot convert float infinity to integer");
  if (std::fabs(*d) >= 0x1p63) return rt.fail("an integer leaves 64 bits");
  return Value(static_cast<int64_t>(*d));
}

R round_integer(Runtime& rt, int64_t i, int64_t digits) {
  if (digits >= 0) return Value(i);
  if (digits < -18) return Value(0);
  int64_t unit = 1;
  for (int64_t k = digits; k < 0; k++) unit *= 10;
  const int64_t rest = ((i % unit) + unit) % unit;
  int64_t down = 0;
  if (__builtin_sub_overflow(i, rest, &down)) return rt.fail("an integer leaves 64 bits");
  const bool up = rest > unit / 2 || (rest == unit / 2 && (down / unit) % 2 != 0);
  if (up && __builtin_add_overflow(down, unit, &down)) return rt.fail("an integer leaves 64 bits");
  return Value(down);
}

R round_(Runtime& rt, const Value& v, Bound& a) {
  TRY(const int64_t digits, integer_argument(rt, a, 0, "precision", 0));
  std::string method = "common";
  if (a.has(1)) {
    TRY(Text m, text_argument(rt, a, 1, "method"));
    method = m.bytes();
  }
  if (method != "common" && method != "ceil" && method != "floor")
    return rt.fail("method must be common, ceil or floor");
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  if (!v.as_number())
    return rt.fail(cat("type ", type_name(v), " doesn't define __round__ method"));
  if (method == "common") {
    if (const auto i = v.as_integer()) return round_integer(rt, *i, digits);
    return Value(round_to(*v.number(), digits));
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = *v.as_number() * unit;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

R string_(Runtime& rt, const Value& v, Bound&) {
  if (v.string()) return v;
  TRY(Text t, to_text(rt, v));
  return rt.text(std::move(t));
}

R safe(Runtime& rt, const Value& v, Bound&) {
  TRY(Text t, to_text(rt, v));
  return rt.text(std::move(t), true);
}

R escape(Runtime& rt, const Value& v, Bound&) {
  if (v.string() && v.string()->markup) return v;
  TRY(Text t, escape_html(rt, v));
  return rt.text(std::move(t), true);
}

R filesizeformat(Runtime& rt, const Value& v, Bound& a) {
  std::optional<double> bytes = v.as_number();
  if (v.string()) bytes = parse_python_float(v.string()->text.bytes());
  if (!bytes) return rt.fail(cat("filesizeformat: expected a number, found ", type_name(v)));
  const bool binary = a.has(0) && truthy(a[0]);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return rt.literal("1 Byte");
  if (*bytes < base) return rt.literal(cat(static_cast<int64_t>(*bytes), " Bytes"));
  constexpr std::string_view kLetters = "KMGTPEZY";
  double unit = base;
  size_t i = 0;
  for (; i < kLetters.size(); i++) {
    unit *= base;
    if (*bytes < unit || i + 1 == kLetters.size()) break;
  }
  char number[400];
  std::snprintf(number, sizeof number, "%.1f", base * *bytes / unit);
  const std::string letter(1, i == 0 && !binary ? 'k' : kLetters[i]);
  return rt.literal(cat(number, " ", letter, binary ? "iB" : "B"));
}

R length_(Runtime& rt, const Value& v, Bound&) {
  if (v.string()) TRY_OK(rt.charge(v.string()->text.size() / 64));
  if (const auto n = length(v)) return Value(*n);
  return rt.fail(cat("object of type '", type_name(v), "' has no len()"));
}

Result<std::optional<Text>> json_indent(Runtime& rt, const Value& v) {
  if (v.is_missing() || v.is_none()) return std::optional<Text>();
  if (v.string()) return std::optional(v.string()->text);
  const auto n = v.as_integer();
  if (!n) return rt.fail(cat("tojson: indent: expected int or str, found ", type_name(v)));
  if (*n > 1000) return rt.fail("tojson: indent: expected at most 1000");
  return std::optional(Text(std::string(static_cast<size_t>(std::max<int64_t>(*n, 0)), ' ')));
}

R tojson(Runtime& rt, const Value& v, Bound& a) {
  JsonStyle style;
  style.ascii = a.has(0) && truthy(a[0]);
  TRY(style.indent, json_indent(rt, a[1]));
  if (style.indent) style.item_separator = Text(",");
  if (a.has(2) && !a[2].is_none()) {
    TRY(auto pair, iterate(rt, a[2]));
    if (pair.size() != 2 || !pair[0].string() || !pair[1].string())
      return rt.fail("tojson: separators: expected two strings");
    style.item_separator = pair[0].string()->text;
    style.key_separator = pair[1].string()->text;
  }
  style.sort_keys = a.has(3) && truthy(a[3]);
  TRY(Text t, to_json(rt, v, style));
  return rt.text(std::move(t));
}

constexpr Builtin kFilters[] = {
    {"abs", "", abs_},
    {"attr", "!name", attr},
    {"count", "", length_},
    {"d", "default_value boolean", default_},
    {"default", "default_value boolean", default_},
    {"e", "", escape},
    {"escape", "", escape},
    {"filesizeformat", "binary", filesizeformat},
    {"float", "default", float_},
    {"int", "default base", int_},
    {"length", "", length_},
    {"round", "precision method", round_},
    {"safe", "", safe},
    {"string", "", string_},
    {"tojson", "ensure_ascii indent separators sort_keys", tojson},
};

}  // namespace

std::span<const Builtin> value_filters() { return kFilters; }

}  // namespace mlxcel::text
