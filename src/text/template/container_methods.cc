// Methods of dict, list, tuple and cycler that do not change them (a cycler's may).
#include <algorithm>

#include "text/template/builtins.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

R get(Runtime& rt, const Value& self, Bound& a) {
  if (!hashable(a[0])) return rt.fail(cat("unhashable type: '", type_name(a[0]), "'"));
  TRY_OK(rt.charge(a[0].weight()));
  const Value* v = self.dict()->find(a[0]);
  return v ? *v : a.has(1) ? a[1] : none();
}

R items(Runtime& rt, const Value& self, Bound&) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : self.dict()->items) {
    TRY(Value pair, rt.tuple({key, value}));
    pairs.push_back(std::move(pair));
  }
  return rt.list(std::move(pairs), SeqKind::kItems);
}

R keys(Runtime& rt, const Value& self, Bound&) {
  TRY(auto all, iterate(rt, self));
  return rt.list(std::move(all), SeqKind::kKeys);
}

R values(Runtime& rt, const Value& self, Bound&) {
  TRY_OK(rt.charge(self.dict()->items.size() / 16));
  std::vector<Value> all;
  for (const auto& [key, value] : self.dict()->items) all.push_back(value);
  return rt.list(std::move(all), SeqKind::kValues);
}

R copy(Runtime&, const Value& self, Bound&) { return self; }

R fromkeys(Runtime& rt, const Value&, Bound& a) {
  TRY(auto all, iterate(rt, a[0]));
  std::vector<std::pair<Value, Value>> pairs;
  for (const Value& key : all) pairs.emplace_back(key, a.has(1) ? a[1] : none());
  return rt.dict(std::move(pairs));
}

R count(Runtime& rt, const Value& self, Bound& a) {
  int64_t n = 0;
  for (const Value& v : self.seq()->items) {
    TRY(const bool same, compare(rt, Comparison::kEq, v, a[0]));
    n += same ? 1 : 0;
  }
  return Value(n);
}

R index(Runtime& rt, const Value& self, Bound& a) {
  const auto& all = self.seq()->items;
  const auto n = static_cast<int64_t>(all.size());
  TRY(int64_t from, integer_argument(rt, a, 1, "start", 0));
  TRY(int64_t to, integer_argument(rt, a, 2, "stop", n));
  if (from < 0) from = std::max<int64_t>(from + n, 0);
  if (to < 0) to += n;
  for (int64_t i = from; i < std::min(to, n); i++) {
    TRY(const bool same, compare(rt, Comparison::kEq, all[static_cast<size_t>(i)], a[0]));
    if (same) return Value(i);
  }
  return rt.fail(cat("the value is not in the ", type_name(self)));
}

R next(Runtime&, const Value& self, Bound&) {
  Cycler& c = *self.cycler();
  Value v = c.items[c.at];
  c.at = (c.at + 1) % c.items.size();
  return v;
}

R reset(Runtime&, const Value& self, Bound&) {
  self.cycler()->at = 0;
  return none();
}

constexpr Builtin kDict[] = {
    {"get", "/!key default", get}, {"items", "", items}, {"keys", "", keys},
    {"values", "", values},        {"copy", "", copy},   {"fromkeys", "/!iterable value", fromkeys},
};
constexpr Builtin kSequence[] = {
    {"count", "/!value", count}, {"index", "/!value start stop", index}, {"copy", "", copy}};
constexpr Builtin kCycler[] = {{"next", "", next}, {"reset", "", reset}};

}  // namespace

std::span<const Builtin> dict_methods() { return kDict; }
std::span<const Builtin> sequence_methods() { return kSequence; }
std::span<const Builtin> cycler_methods() { return kCycler; }

}  // namespace mlxcel::text
