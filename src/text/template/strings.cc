#include "text/template/strings.h"

#include <algorithm>

#include "text/template/chars.h"

namespace mlxcel::text {
namespace {

// Maps whole runs, so that rules about neighbours (the final sigma) see them.
Text map_runs(const Text& t, std::string (*f)(std::string_view)) {
  Text out;
  for (size_t at = 0; at < t.size();) {
    const size_t end = t.run_end(at);
    out.append(f(std::string_view(t.bytes()).substr(at, end - at)), t.is_content(at));
    at = end;
  }
  return out;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

Text upper_text(const Text& t) { return map_runs(t, to_upper); }
Text lower_text(const Text& t) { return map_runs(t, to_lower); }
Text fold_case_text(const Text& t) { return map_runs(t, fold_case); }

Text capitalize_text(const Text& t) {
  if (t.empty()) return t;
  size_t at = 0;
  const char32_t c = next_code_point(t.bytes(), at);
  Text out;
  out.append(to_title(c), t.is_content(0));
  out.append(lower_text(t.slice(at, t.size())));
  return out;
}

Text title_text(const Text& t) {
  Text out;
  bool cased_before = false;
  for (size_t at = 0; at < t.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(t.bytes(), at);
    if (cased_before) {
      out.append(lower_text(t.slice(begin, at)));
    } else {
      out.append(to_title(c), t.is_content(begin));
    }
    cased_before = is_upper(c) || is_lower(c) || is_title(c);
  }
  return out;
}

Text swap_case_text(const Text& t) {
  Text out;
  for (size_t at = 0; at < t.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(t.bytes(), at);
    const Text one = t.slice(begin, at);
    out.append(is_upper(c) ? lower_text(one) : is_lower(c) ? upper_text(one) : one);
  }
  return out;
}

Text strip_text(const Text& t, const std::optional<std::string>& chars, bool left, bool right) {
  std::u32string wanted;
  for (size_t at = 0; chars && at < chars->size();) wanted += next_code_point(*chars, at);
  std::sort(wanted.begin(), wanted.end());
  auto stripped = [&](char32_t c) {
    return chars ? std::binary_search(wanted.begin(), wanted.end(), c) : is_space(c);
  };
  size_t begin = 0, end = t.size();
  while (left && begin < end) {
    size_t next = begin;
    if (!stripped(next_code_point(t.bytes(), next))) break;
    begin = next;
  }
  while (right && begin < end) {
    size_t before = end;
    if (!stripped(previous_code_point(t.bytes(), before))) break;
    end = before;
  }
  return begin == 0 && end == t.size() ? t : t.slice(begin, end);
}

Result<Text> replace_text(Runtime& rt, const Text& t, const Text& from, const Text& to,
                          int64_t count) {
  const std::string& s = t.bytes();
  TRY_OK(rt.charge_search(s.size(), from.size()));
  Text out;
  size_t done = 0, at = 0;
  for (; count != 0; count--) {
    const size_t found = from.empty() ? at : s.find(from.bytes(), at);
    if (found == std::string::npos || found > s.size()) break;
    out.append(t, done, found);
    out.append(to);
    done = found + from.size();
    at = from.empty() ? (found < s.size() ? found + utf8_size(s[found]) : s.size() + 1) : done;
    if (out.size() > rt.limits().string_bytes) return rt.fail("a string grows too long");
    TRY_OK(rt.charge(1 + to.steps()));
  }
  if (done == 0 && out.empty()) return t;
  out.append(t, done, s.size());
  return out;
}

std::vector<Text> split_lines(const Text& t, bool keep_ends) {
  const std::string& s = t.bytes();
  std::vector<Text> lines;
  size_t begin = 0;
  for (size_t at = 0; at < s.size();) {
    const size_t end = at;
    const char32_t c = next_code_point(s, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < s.size() && s[at] == '\n') at++;
    lines.push_back(t.slice(begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < s.size()) lines.push_back(t.slice(begin, s.size()));
  return lines;
}

Result<Text> pad_text(Runtime& rt, const Text& t, int64_t width, const Text& fill, Padding where) {
  if (count_code_points(fill.bytes()) != 1)
    return rt.fail("The fill character must be exactly one character long");
  TRY_OK(rt.charge(t.size() / 64));
  const auto n = static_cast<int64_t>(count_code_points(t.bytes()));
  if (width <= n) return t;
  if (width > static_cast<int64_t>(rt.limits().string_bytes))
    return rt.fail("a string grows too long");
  const int64_t pad = width - n;
  TRY_OK(rt.charge(static_cast<size_t>(pad) / 4));
  int64_t left = where == Padding::kLeft ? 0 : where == Padding::kRight ? pad : pad / 2;
  if (where == Padding::kCenter) left += pad & width & 1;  // CPython's rule
  Text out;
  for (int64_t i = 0; i < left; i++) out.append(fill);
  out.append(t);
  for (int64_t i = left; i < pad; i++) out.append(fill);
  return out;
}

Result<Text> escape_html(Runtime& rt, const Value& value) {
  constexpr std::string_view kFrom = "&<>'\"";
  constexpr std::string_view kTo[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  TRY(Text t, to_text(rt, value));
  TRY_OK(rt.charge(t.size() / 4));
  Text out;
  for (size_t i = 0; i < t.size(); i++) {
    const size_t k = kFrom.find(t.bytes()[i]);
    if (k == kFrom.npos) {
      out.append(t, i, i + 1);
    } else {
      out.append(kTo[k], t.is_content(i));
    }
  }
  return out;
}

}  // namespace mlxcel::text
