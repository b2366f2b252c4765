// Filters that take text and make text.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/chars.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

// str(value); a safe string stays one.
R on_text(Runtime& rt, const Value& v, Text (*f)(const Text&), size_t bytes_a_step = 8) {
  TRY(Text t, to_text(rt, v));
  TRY_OK(rt.charge(t.size() / bytes_a_step));
  return rt.text(f(t), v.string() && v.string()->markup);
}

R upper(Runtime& rt, const Value& v, Bound&) { return on_text(rt, v, upper_text); }
R lower(Runtime& rt, const Value& v, Bound&) { return on_text(rt, v, lower_text); }
R capitalize(Runtime& rt, const Value& v, Bound&) { return on_text(rt, v, capitalize_text); }

// Not str.title(): words begin behind blanks, hyphens and opening brackets only.
R title(Runtime& rt, const Value& v, Bound&) {
  const auto change = [](const Text& t) {
    const std::string& s = t.bytes();
    Text out;
    bool start = true;
    for (size_t at = 0; at < s.size();) {
      const size_t begin = at;
      const char32_t c = next_code_point(s, at);
      const bool mark =
          is_space(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) !=
                                          std::string_view::npos);
      const Text one = t.slice(begin, at);
      out.append(mark ? one : start ? upper_text(one) : lower_text(one));
      start = mark;
    }
    return out;
  };
  return on_text(rt, v, change, 1);
}

R trim(Runtime& rt, const Value& v, Bound& a) {
  TRY(Text t, to_text(rt, v));
  std::optional<std::string> chars;
  if (a.has(0) && !a[0].is_none()) {
    TRY(Text c, text_argument(rt, a, 0, "chars"));
    chars = c.bytes();
  }
  TRY_OK(rt.charge(t.size() / 64));
  return rt.text(strip_text(t, chars, true, true), v.string() && v.string()->markup);
}

R replace(Runtime& rt, const Value& v, Bound& a) {
  TRY(Text t, to_text(rt, v));
  TRY(Text from, to_text(rt, a[0]));
  TRY(Text to, to_text(rt, a[1]));
  if (a[2].is_none()) a.at[2] = Value();
  TRY(const int64_t count, integer_argument(rt, a, 2, "count", -1));
  TRY(Text out, replace_text(rt, t, from, to, count));
  return rt.text(std::move(out));
}

R indent(Runtime& rt, const Value& v, Bound& a) {
  if (!v.string()) {
    if (v.is_undefined()) return rt.fail(v.undefined()->message);
    return rt.fail(cat("indent: expected str, found ", type_name(v)));
  }
  Text margin;
  if (a.has(0) && a[0].string()) {
    margin = a[0].string()->text;
  } else {
    TRY(const int64_t width, integer_argument(rt, a, 0, "width", 4));
    margin = Text(std::string(static_cast<size_t>(std::clamp<int64_t>(width, 0, 10000)), ' '));
  }
  const bool first = a.has(1) && truthy(a[1]), blank = a.has(2) && truthy(a[2]);
  TRY_OK(rt.charge(v.string()->text.size() / 8));
  Text all = v.string()->text;
  all.append("\n");
  const auto lines = split_lines(all, false);
  Text out;
  if (first) out.append(margin);
  for (size_t i = 0; i < lines.size(); i++) {
    TRY_OK(rt.charge(1 + margin.steps()));
    if (out.size() > rt.limits().string_bytes) return rt.fail("a string grows too long");
    if (i > 0) out.append("\n");
    if (i > 0 && (blank || !lines[i].empty())) out.append(margin);
    out.append(lines[i]);
  }
  return rt.text(std::move(out));
}

R center(Runtime& rt, const Value& v, Bound& a) {
  TRY(Text t, to_text(rt, v));
  TRY(const int64_t width, integer_argument(rt, a, 0, "width", 80));
  TRY(Text out, pad_text(rt, t, width, Text(" "), Padding::kCenter));
  return rt.text(std::move(out));
}

R truncate(Runtime& rt, const Value& v, Bound& a) {
  TRY(const int64_t length_wanted, integer_argument(rt, a, 0, "length", 255));
  const bool killwords = a.has(1) && truthy(a[1]);
  Text end("...");
  if (a.has(2)) {
    TRY(end, text_argument(rt, a, 2, "end"));
  }
  if (a[3].is_none()) a.at[3] = Value();
  TRY(const int64_t leeway, integer_argument(rt, a, 3, "leeway", 5));
  if (!v.string()) return rt.fail(cat("truncate: expected str, found ", type_name(v)));
  const Text& t = v.string()->text;
  TRY_OK(rt.charge(t.size() / 16));
  const auto n = static_cast<int64_t>(count_code_points(t.bytes()));
  const auto tail = static_cast<int64_t>(count_code_points(end.bytes()));
  if (length_wanted < tail)
    return rt.fail(cat("expected length >= ", tail, ", got ", length_wanted));
  if (leeway < 0) return rt.fail(cat("expected leeway >= 0, got ", leeway));
  if (n <= length_wanted + leeway) return v;
  size_t keep = byte_of_code_point(t.bytes(), static_cast<size_t>(length_wanted - tail));
  if (!killwords) {
    const size_t blank = t.bytes().substr(0, keep).rfind(' ');
    if (blank != std::string::npos) keep = blank;
  }
  Text out = t.slice(0, keep);
  out.append(end);
  return rt.text(std::move(out));
}

R wordcount(Runtime& rt, const Value& v, Bound&) {
  TRY(Text t, to_text(rt, v));
  TRY_OK(rt.charge(t.size() / 8));
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < t.size();) {
    const bool word = is_word(next_code_point(t.bytes(), at));
    if (word && !inside) words++;
    inside = word;
  }
  return Value(words);
}

R format(Runtime& rt, const Value& v, Bound& a) {
  TRY(Text t, to_text(rt, v));
  TRY_OK(rt.charge(t.size() / 8));
  if (!a.raw.positional.empty() && !a.raw.named.empty())
    return rt.fail("can't handle positional and keyword arguments at the same time");
  Value values;
  if (!a.raw.named.empty()) {
    std::vector<std::pair<Value, Value>> pairs;
    for (const auto& [key, value] : a.raw.named) pairs.emplace_back(make_string(key, false), value);
    TRY(values, rt.dict(std::move(pairs)));
  } else {
    TRY(values, rt.tuple(a.raw.positional));
  }
  TRY(Text out, format_percent(rt, t, values));
  return rt.text(std::move(out));
}

Status append_url(Runtime& rt, Text& out, const Text& t, bool query) {
  TRY_OK(rt.charge(t.size() / 4));
  constexpr char kHex[] = "0123456789ABCDEF";
  for (size_t i = 0; i < t.size(); i++) {
    const auto c = static_cast<unsigned char>(t.bytes()[i]);
    const bool keep = (c < 0x80 && std::isalnum(c)) || c == '_' || c == '.' || c == '-' ||
                      c == '~' || (c == '/' && !query);
    if (keep) {
      out.append(t, i, i + 1);
    } else if (query && c == ' ') {
      out.append("+");
    } else {
      const char escaped[] = {'%', kHex[c >> 4], kHex[c & 15]};
      out.append(std::string_view(escaped, 3), t.is_content(i));
    }
  }
  return Ok{};
}

R urlencode(Runtime& rt, const Value& v, Bound&) {
  Text out;
  if (v.string() || !is_iterable(v)) {
    TRY(Text t, to_text(rt, v));
    TRY_OK(append_url(rt, out, t, false));
    return rt.text(std::move(out));
  }
  std::vector<Value> pairs;
  if (v.dict()) {
    for (const auto& [key, value] : v.dict()->items) {
      TRY(Value pair, rt.tuple({key, value}));
      pairs.push_back(std::move(pair));
    }
  } else {
    TRY(pairs, iterate(rt, v));
  }
  for (size_t i = 0; i < pairs.size(); i++) {
    TRY(auto pair, iterate(rt, pairs[i]));
    if (pair.size() != 2) return rt.fail("urlencode: expected pairs");
    TRY(Text key, to_text(rt, pair[0]));
    TRY(Text value, to_text(rt, pair[1]));
    if (i > 0) out.append("&");
    TRY_OK(append_url(rt, out, key, true));
    out.append("=");
    TRY_OK(append_url(rt, out, value, true));
  }
  return rt.text(std::move(out));
}

R xmlattr(Runtime& rt, const Value& v, Bound& a) {
  if (!v.dict()) return rt.fail(cat("xmlattr: expected dict, found ", type_name(v)));
  Text out;
  for (const auto& [key, value] : v.dict()->items) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.string()) return rt.fail("xmlattr: expected names that are strings");
    if (key.string()->text.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      return rt.fail(
          cat("Invalid character in attribute name: '", key.string()->text.bytes(), "'"));
    if (!out.empty()) out.append(" ");
    TRY(Text name, escape_html(rt, key));
    TRY(Text shown, escape_html(rt, value));
    out.append(name);
    out.append("=\"");
    out.append(shown);
    out.append("\"");
  }
  if (out.empty() || (a.has(0) && !truthy(a[0]))) return rt.text(std::move(out));
  Text spaced(" ");
  spaced.append(out);
  return rt.text(std::move(spaced));
}

constexpr Builtin kFilters[] = {
    {"capitalize", "", capitalize},
    {"center", "width", center},
    {"format", "*", format},
    {"indent", "width first blank", indent},
    {"lower", "", lower},
    {"replace", "!old !new count", replace},
    {"title", "", title},
    {"trim", "chars", trim},
    {"truncate", "length killwords end leeway", truncate},
    {"upper", "", upper},
    {"urlencode", "", urlencode},
    {"wordcount", "", wordcount},
    {"xmlattr", "autospace", xmlattr},
};

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace mlxcel::text
