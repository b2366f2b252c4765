// str.split and its relatives.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/chars.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

R list_of(Runtime& rt, const Value& self, std::vector<Text> parts, SeqKind kind = SeqKind::kList) {
  std::vector<Value> items;
  for (Text& part : parts) {
    TRY(Value v, rt.text(std::move(part), self.string()->markup));
    items.push_back(std::move(v));
  }
  return rt.list(std::move(items), kind);
}

std::vector<Text> split_at(const Text& t, const std::string& mark, int64_t most) {
  std::vector<Text> parts;
  size_t begin = 0;
  for (; most != 0; most--) {
    const size_t at = t.bytes().find(mark, begin);
    if (at == std::string::npos) break;
    parts.push_back(t.slice(begin, at));
    begin = at + mark.size();
  }
  parts.push_back(t.slice(begin, t.size()));
  return parts;
}

std::vector<Text> rsplit_at(const Text& t, const std::string& mark, int64_t most) {
  std::vector<Text> parts;
  size_t end = t.size();
  for (; most != 0 && end >= mark.size(); most--) {
    const size_t at = t.bytes().rfind(mark, end - mark.size());
    if (at == std::string::npos) break;
    parts.push_back(t.slice(at + mark.size(), end));
    end = at;
  }
  parts.push_back(t.slice(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Runs of blanks separate; blanks at the ends vanish.
std::vector<Text> split_blanks(const Text& t, int64_t most) {
  const std::string& s = t.bytes();
  std::vector<Text> parts;
  for (size_t at = 0;;) {
    size_t begin = at;
    while (begin < s.size()) {
      size_t next = begin;
      if (!is_space(next_code_point(s, next))) break;
      begin = next;
    }
    if (begin >= s.size()) return parts;
    if (most-- == 0) {
      parts.push_back(t.slice(begin, s.size()));
      return parts;
    }
    size_t end = begin;
    while (end < s.size()) {
      size_t next = end;
      if (is_space(next_code_point(s, next))) break;
      end = next;
    }
    parts.push_back(t.slice(begin, end));
    at = end;
  }
}

std::vector<Text> rsplit_blanks(const Text& t, int64_t most) {
  const std::string& s = t.bytes();
  std::vector<Text> parts;
  for (size_t at = s.size();;) {
    size_t end = at;
    while (end > 0) {
      size_t before = end;
      if (!is_space(previous_code_point(s, before))) break;
      end = before;
    }
    if (end == 0) break;
    if (most-- == 0) {
      parts.push_back(t.slice(0, end));
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      size_t before = begin;
      if (is_space(previous_code_point(s, before))) break;
      begin = before;
    }
    parts.push_back(t.slice(begin, end));
    at = begin;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

R split_any(Runtime& rt, const Value& self, Bound& a, bool right) {
  TRY(const int64_t most, integer_argument(rt, a, 1, "maxsplit", -1));
  const Text& t = self.string()->text;
  TRY_OK(rt.charge(t.size() / 16));
  if (!a.has(0) || a[0].is_none())
    return list_of(rt, self, right ? rsplit_blanks(t, most) : split_blanks(t, most));
  TRY(const Text mark, text_argument(rt, a, 0, "sep"));
  if (mark.empty()) return rt.fail("empty separator");
  TRY_OK(rt.charge_search(t.size(), mark.size()));
  return list_of(rt, self,
                 right ? rsplit_at(t, mark.bytes(), most) : split_at(t, mark.bytes(), most));
}

R split(Runtime& rt, const Value& self, Bound& a) { return split_any(rt, self, a, false); }
R rsplit(Runtime& rt, const Value& self, Bound& a) { return split_any(rt, self, a, true); }

R splitlines(Runtime& rt, const Value& self, Bound& a) {
  TRY_OK(rt.charge(self.string()->text.size() / 8));
  return list_of(rt, self, split_lines(self.string()->text, a.has(0) && truthy(a[0])));
}

R partition_at(Runtime& rt, const Value& self, Bound& a, bool right) {
  TRY(const Text mark, text_argument(rt, a, 0, "sep"));
  if (mark.empty()) return rt.fail("empty separator");
  const Text& t = self.string()->text;
  TRY_OK(rt.charge_search(t.size(), mark.size()));
  const size_t at = right ? t.bytes().rfind(mark.bytes()) : t.bytes().find(mark.bytes());
  if (at == std::string::npos)
    return list_of(
        rt, self,
        right ? std::vector<Text>{Text(), Text(), t} : std::vector<Text>{t, Text(), Text()},
        SeqKind::kTuple);
  return list_of(
      rt, self,
      {t.slice(0, at), t.slice(at, at + mark.size()), t.slice(at + mark.size(), t.size())},
      SeqKind::kTuple);
}

R partition(Runtime& rt, const Value& self, Bound& a) { return partition_at(rt, self, a, false); }
R rpartition(Runtime& rt, const Value& self, Bound& a) { return partition_at(rt, self, a, true); }

constexpr Builtin kMethods[] = {
    {"partition", "/!sep", partition},      {"rpartition", "/!sep", rpartition},
    {"rsplit", "sep maxsplit", rsplit},     {"split", "sep maxsplit", split},
    {"splitlines", "keepends", splitlines},
};

}  // namespace

std::span<const Builtin> split_methods() { return kMethods; }

}  // namespace mlxcel::text
