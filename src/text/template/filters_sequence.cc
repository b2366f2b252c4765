// Filters that read an iterable.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/numbers.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

// "a.b.0" -> the path of names and indices; nothing: the item itself.
std::vector<Value> attribute_path(const Value& attribute) {
  if (attribute.is_missing() || attribute.is_none()) return {};
  if (!attribute.string()) return {attribute};
  std::vector<Value> path;
  std::string_view rest = attribute.string()->text.bytes();
  for (;;) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    const auto index = digits ? parse_python_int(part, 10) : std::nullopt;
    path.push_back(index ? Value(*index) : make_string(part, false));
    if (dot == rest.npos) return path;
    rest.remove_prefix(dot + 1);
  }
}

R follow(Runtime& rt, Value item, const std::vector<Value>& path, const Value& otherwise = {}) {
  for (const Value& step : path) {
    TRY(item, get_item(rt, item, step));
    if (item.is_undefined() && !otherwise.is_missing() && !otherwise.is_none()) item = otherwise;
  }
  return item;
}

// As a sort key: strings without case unless asked for.
R sort_key(Runtime& rt, const Value& v, bool case_sensitive) {
  if (case_sensitive || !v.string()) return v;
  TRY_OK(rt.charge(1 + v.string()->text.size() / 8));
  auto s = std::make_shared<String>();
  s->text = lower_text(v.string()->text);
  return Value(std::shared_ptr<const String>(std::move(s)));
}

struct Keyed {
  std::vector<Value> keys;
  Value item;
};

Status sort_by_keys(Runtime& rt, std::vector<Keyed>& items, bool reverse) {
  TRY_OK(rt.charge(items.size() * 4));
  std::optional<Error> error;
  auto before = [&](const Keyed& a, const Keyed& b) {
    for (size_t i = 0; i < a.keys.size() && !error; i++) {
      if (const auto paid = rt.charge_comparison(a.keys[i], b.keys[i]); !paid) {
        error = paid.error();
        break;
      }
      if (equal(a.keys[i], b.keys[i])) continue;
      const auto l = less(rt, a.keys[i], b.keys[i]);
      if (!l) error = l.error();
      return l && *l;
    }
    return false;
  };
  if (reverse) std::reverse(items.begin(), items.end());  // equal items keep their order
  std::stable_sort(items.begin(), items.end(), before);
  if (reverse) std::reverse(items.begin(), items.end());
  if (error) return *error;
  return Ok{};
}

R sort(Runtime& rt, const Value& v, Bound& a) {
  const bool case_sensitive = a.has(1) && truthy(a[1]);
  TRY(auto items, iterate(rt, v));
  std::vector<std::vector<Value>> paths;
  if (a[2].string()) {
    const std::string& names = a[2].string()->text.bytes();
    for (size_t begin = 0; begin <= names.size();) {
      const size_t end = std::min(names.find(',', begin), names.size());
      paths.push_back(attribute_path(make_string(names.substr(begin, end - begin), false)));
      begin = end + 1;
    }
  } else {
    paths.push_back(attribute_path(a[2]));
  }
  std::vector<Keyed> keyed;
  for (Value& item : items) {
    Keyed k;
    for (const auto& path : paths) {
      TRY(Value key, follow(rt, item, path));
      TRY(key, sort_key(rt, key, case_sensitive));
      k.keys.push_back(std::move(key));
    }
    k.item = std::move(item);
    keyed.push_back(std::move(k));
  }
  TRY_OK(sort_by_keys(rt, keyed, a.has(0) && truthy(a[0])));
  std::vector<Value> sorted;
  for (Keyed& k : keyed) sorted.push_back(std::move(k.item));
  return rt.list(std::move(sorted));
}

R dictsort(Runtime& rt, const Value& v, Bound& a) {
  std::string by = "key";
  if (a.has(1)) {
    TRY(Text t, text_argument(rt, a, 1, "by"));
    by = t.bytes();
  }
  if (by != "key" && by != "value")
    return rt.fail("You can only sort by either \"key\" or \"value\"");
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  if (!v.dict()) return rt.fail(cat("dictsort: expected dict, found ", type_name(v)));
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : v.dict()->items) {
    TRY(Value pair, rt.tuple({key, value}));
    TRY(Value by_what, sort_key(rt, by == "key" ? key : value, a.has(0) && truthy(a[0])));
    keyed.push_back({{std::move(by_what)}, std::move(pair)});
  }
  TRY_OK(sort_by_keys(rt, keyed, a.has(2) && truthy(a[2])));
  std::vector<Value> sorted;
  for (Keyed& k : keyed) sorted.push_back(std::move(k.item));
  return rt.list(std::move(sorted));
}

R unique(Runtime& rt, const Value& v, Bound& a) {
  TRY(auto items, iterate(rt, v));
  const auto path = attribute_path(a[1]);
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : items) {
    const auto key = follow(rt, item, path);
    if (!key) return rt.generator(std::move(kept), key.error().message);
    if (!hashable(*key))
      return rt.generator(std::move(kept),
                          rt.fail(cat("unhashable type: '", type_name(*key), "'")).message);
    TRY(const Value k, sort_key(rt, *key, a.has(0) && truthy(a[0])));
    TRY_OK(rt.charge(1 + k.weight()));
    if (seen.find(k)) continue;
    seen.set(k, none());
    kept.push_back(item);
  }
  return rt.generator(std::move(kept));
}

R extreme(Runtime& rt, const Value& v, Bound& a, bool largest) {
  TRY(auto items, iterate(rt, v));
  if (items.empty()) return rt.undefined("No aggregated item, sequence was empty.");
  const bool case_sensitive = a.has(0) && truthy(a[0]);
  const auto path = attribute_path(a[1]);
  Value best, best_key;
  for (const Value& item : items) {
    TRY(Value key, follow(rt, item, path));
    TRY(key, sort_key(rt, key, case_sensitive));
    bool better = best.is_missing();
    if (!better) {
      TRY(better, largest ? less(rt, best_key, key) : less(rt, key, best_key));
    }
    if (!better) continue;
    best = item;
    best_key = key;
  }
  return best;
}

R min(Runtime& rt, const Value& v, Bound& a) { return extreme(rt, v, a, false); }
R max(Runtime& rt, const Value& v, Bound& a) { return extreme(rt, v, a, true); }

R join(Runtime& rt, const Value& v, Bound& a) {
  Text separator;
  if (a.has(0)) {
    TRY(separator, to_text(rt, a[0]));
  }
  const auto path = attribute_path(a[1]);
  TRY(auto items, iterate(rt, v));
  Text out;
  for (size_t i = 0; i < items.size(); i++) {
    TRY_OK(rt.charge(1 + separator.steps()));
    TRY(Value item, follow(rt, items[i], path));
    TRY(Text t, to_text(rt, item));
    if (i > 0) out.append(separator);
    out.append(t);
    if (out.size() > rt.limits().string_bytes) return rt.fail("a string grows too long");
  }
  return rt.text(std::move(out));
}

R first(Runtime& rt, const Value& v, Bound&) {
  if (Iterator* i = v.iterator(); i && i->next < i->items.size()) return i->items[i->next++];
  if (v.string() && !v.string()->text.empty()) return get_item(rt, v, Value(0));
  TRY(auto items, iterate(rt, v));
  return items.empty() ? rt.undefined("No first item, sequence was empty.") : items.front();
}

R last(Runtime& rt, const Value& v, Bound&) {
  if (v.iterator() || v.loop())
    return rt.fail(cat("'", type_name(v), "' object is not reversible"));
  if (v.is_undefined()) return rt.fail(v.undefined()->message);
  TRY(auto items, iterate(rt, v));
  return items.empty() ? rt.undefined("No last item, sequence was empty.") : items.back();
}

R reverse(Runtime& rt, const Value& v, Bound&) {
  TRY(auto items, iterate(rt, v));
  std::reverse(items.begin(), items.end());
  if (v.string()) {
    Text out;
    for (const Value& c : items) out.append(c.string()->text);
    return rt.text(std::move(out), v.string()->markup);
  }
  if (v.iterator() || v.is_undefined()) return rt.list(std::move(items));
  return rt.generator(std::move(items), {}, "list_reverseiterator");
}

R list(Runtime& rt, const Value& v, Bound&) {
  TRY(auto items, iterate(rt, v));
  return rt.list(std::move(items));
}

R items(Runtime& rt, const Value& v, Bound&) {
  if (v.is_undefined()) return rt.generator({});
  if (!v.dict())
    return rt.generator({}, rt.fail("Can only get item pairs from a mapping.").message);
  std::vector<Value> pairs;
  for (const auto& [key, value] : v.dict()->items) {
    TRY(Value pair, rt.tuple({key, value}));
    pairs.push_back(std::move(pair));
  }
  return rt.generator(std::move(pairs));
}

R sum(Runtime& rt, const Value& v, Bound& a) {
  TRY(auto all, iterate(rt, v));
  const auto path = attribute_path(a[0]);
  Value total = a.has(1) ? a[1] : Value(0);
  if (total.string()) return rt.fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : all) {
    TRY(Value x, follow(rt, item, path));
    TRY(total, binary(rt, Op::kAdd, total, x));
  }
  return total;
}

R batch(Runtime& rt, const Value& v, Bound& a) {
  TRY(auto all, iterate(rt, v));
  TRY(const int64_t size, integer_argument(rt, a, 0, "linecount", 1));
  const bool fill = a.has(1) && !a[1].is_none();
  if (size > 1'000'000) return rt.fail("batch: expected at most 1000000 items");
  std::vector<Value> rows, row;
  auto flush = [&]() -> Status {
    TRY(Value r, rt.list(std::move(row)));
    rows.push_back(std::move(r));
    row.clear();
    return Ok{};
  };
  for (const Value& item : all) {
    if (static_cast<int64_t>(row.size()) == size) TRY_OK(flush());
    row.push_back(item);
  }
  if (!row.empty()) {
    while (fill && static_cast<int64_t>(row.size()) < size) row.push_back(a[1]);
    TRY_OK(flush());
  }
  return rt.generator(std::move(rows));
}

R slice(Runtime& rt, const Value& v, Bound& a) {
  TRY(auto all, iterate(rt, v));
  TRY(const int64_t slices, integer_argument(rt, a, 0, "slices", 1));
  if (slices == 0) return rt.fail("integer division or modulo by zero");
  if (slices > 1'000'000) return rt.fail("slice: expected at most 1000000 slices");
  const auto n = static_cast<int64_t>(all.size());
  std::vector<Value> columns;
  auto begin = all.begin();
  for (int64_t i = 0; i < slices; i++) {
    const bool extra = i < n % slices;
    const auto end = begin + n / slices + (extra ? 1 : 0);
    std::vector<Value> column(begin, end);
    if (!extra && a.has(1) && !a[1].is_none()) column.push_back(a[1]);
    TRY(Value c, rt.list(std::move(column)));
    columns.push_back(std::move(c));
    begin = end;
  }
  return rt.generator(std::move(columns));
}

R groupby(Runtime& rt, const Value& v, Bound& a) {
  TRY(auto all, iterate(rt, v));
  const auto path = attribute_path(a[0]);
  const bool case_sensitive = a.has(2) && truthy(a[2]);
  std::vector<Keyed> keyed;
  for (const Value& item : all) {
    TRY(Value key, follow(rt, item, path, a[1]));
    TRY(Value pair, rt.tuple({key, item}));
    TRY(key, sort_key(rt, key, case_sensitive));
    keyed.push_back({{std::move(key)}, std::move(pair)});
  }
  TRY_OK(sort_by_keys(rt, keyed, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    const size_t begin = i;
    for (; i < keyed.size() && equal(keyed[i].keys[0], keyed[begin].keys[0]); i++)
      members.push_back(keyed[i].item.seq()->items[1]);
    TRY(Value list_of, rt.list(std::move(members)));
    TRY(Value group, rt.tuple({keyed[begin].item.seq()->items[0], list_of}));
    groups.push_back(std::move(group));
  }
  return rt.list(std::move(groups));
}

const std::string* name_of(const Value& v) {
  return v.string() ? &v.string()->text.bytes() : nullptr;
}

// map: a filter by name with its arguments, or attribute=... with default=...
R map(Runtime& rt, const Value& v, Bound& a) {
  if (!truthy(v)) return rt.generator({});
  Args args = std::move(a.raw);
  const bool by_attribute =
      args.positional.empty() && std::any_of(args.named.begin(), args.named.end(),
                                             [](const auto& n) { return n.first == "attribute"; });
  std::vector<Value> path;
  Value otherwise;
  const Builtin* filter = nullptr;
  if (by_attribute) {
    for (const auto& [name, value] : args.named) {
      if (name == "attribute") {
        path = attribute_path(value);
      } else if (name == "default") {
        otherwise = value;
      } else {
        return rt.fail(cat("Unexpected keyword argument '", name, "'"));
      }
    }
  } else {
    if (args.positional.empty()) return rt.fail("map requires a filter argument");
    const std::string* name = name_of(args.positional[0]);
    filter = name ? find_filter(*name) : nullptr;
    if (!filter) return rt.fail(cat("No filter named '", name ? *name : "", "'."));
    args.positional.erase(args.positional.begin());
  }
  TRY(auto all, iterate(rt, v));
  std::vector<Value> out;
  for (const Value& item : all) {
    TRY_OK(rt.charge(1));
    auto mapped =
        filter ? call_builtin(rt, *filter, item, args) : follow(rt, item, path, otherwise);
    if (!mapped) return rt.generator(std::move(out), mapped.error().message);
    out.push_back(std::move(*mapped));
  }
  return rt.generator(std::move(out));
}

R choose(Runtime& rt, const Value& v, Args args, bool keep, bool by_attribute) {
  if (!truthy(v)) return rt.generator({});
  std::vector<Value> path;
  if (by_attribute) {
    if (args.positional.empty()) return rt.fail("Missing parameter for attribute name");
    path = attribute_path(args.positional[0]);
    args.positional.erase(args.positional.begin());
  }
  const Builtin* test = nullptr;
  if (!args.positional.empty()) {
    const std::string* name = name_of(args.positional[0]);
    test = name ? find_test(*name) : nullptr;
    if (!test) return rt.fail(cat("No test named '", name ? *name : "", "'."));
    args.positional.erase(args.positional.begin());
  }
  TRY(auto all, iterate(rt, v));
  std::vector<Value> out;
  for (const Value& item : all) {
    TRY_OK(rt.charge(1));
    auto value = follow(rt, item, path);
    if (value && test) value = call_builtin(rt, *test, *value, args);
    if (!value) return rt.generator(std::move(out), value.error().message);
    if (truthy(*value) == keep) out.push_back(item);
  }
  return rt.generator(std::move(out));
}

R select(Runtime& rt, const Value& v, Bound& a) { return choose(rt, v, a.raw, true, false); }
R reject(Runtime& rt, const Value& v, Bound& a) { return choose(rt, v, a.raw, false, false); }
R selectattr(Runtime& rt, const Value& v, Bound& a) { return choose(rt, v, a.raw, true, true); }
R rejectattr(Runtime& rt, const Value& v, Bound& a) { return choose(rt, v, a.raw, false, true); }

constexpr Builtin kFilters[] = {
    {"batch", "!linecount fill_with", batch},
    {"dictsort", "case_sensitive by reverse", dictsort},
    {"first", "", first},
    {"groupby", "!attribute default case_sensitive", groupby},
    {"items", "", items},
    {"join", "d attribute", join},
    {"last", "", last},
    {"list", "", list},
    {"map", "*", map},
    {"max", "case_sensitive attribute", max},
    {"min", "case_sensitive attribute", min},
    {"reject", "*", reject},
    {"rejectattr", "*", rejectattr},
    {"reverse", "", reverse},
    {"select", "*", select},
    {"selectattr", "*", selectattr},
    {"slice", "!slices fill_with", slice},
    {"sort", "reverse case_sensitive attribute", sort},
    {"sum", "attribute start", sum},
    {"unique", "case_sensitive attribute", unique},
};

}  // namespace

std::span<const Builtin> sequence_filters() { return kFilters; }

}  // namespace mlxcel::text
