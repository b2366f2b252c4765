// a.b, a[b], a[b:c:d] and iteration.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/chars.h"

namespace mlxcel::text {
namespace {

std::string object_repr(const Value& v) {
  return v.is_none() ? "None" : cat(type_name(v), " object");
}

// Methods that Python has and an immutable sandbox hides.
bool is_mutator(const Value& object, std::string_view name) {
  auto among = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.dict()) return among({"clear", "pop", "popitem", "setdefault", "update"});
  if (object.is_list())
    return among({"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  return false;
}

Result<Value> bound(const Builtin* method, const Value& self) {
  auto f = std::make_shared<Function>();
  f->builtin = method;
  f->self = self;
  f->hold(self);
  return Value(std::shared_ptr<const Function>(std::move(f)));
}

Result<Value> loop_attribute(Runtime& rt, const Loop& l, std::string_view name, bool& found) {
  const auto n = static_cast<int64_t>(l.items.size());
  found = true;
  if (name == "index") return Value(l.index0 + 1);
  if (name == "index0") return Value(l.index0);
  if (name == "revindex") return Value(n - l.index0);
  if (name == "revindex0") return Value(n - l.index0 - 1);
  if (name == "first") return Value(l.index0 == 0);
  if (name == "last") return Value(l.index0 + 1 >= n);
  if (name == "length") return Value(n);
  if (name == "depth") return Value(l.depth0 + 1);
  if (name == "depth0") return Value(l.depth0);
  if (name == "previtem")
    return l.index0 == 0 ? rt.undefined("there is no previous item")
                         : l.items[static_cast<size_t>(l.index0 - 1)];
  if (name == "nextitem")
    return l.index0 + 1 >= n ? rt.undefined("there is no next item")
                             : l.items[static_cast<size_t>(l.index0 + 1)];
  found = false;
  return Value();
}

Result<Value> cycle(Runtime& rt, const Value& self, Bound& args) {
  if (args.raw.positional.empty()) return rt.fail("no items for cycling given");
  return args.raw.positional[static_cast<size_t>(self.loop()->index0) % args.raw.positional.size()];
}

Result<Value> changed(Runtime& rt, const Value& self, Bound& args) {
  Loop& l = *self.loop();
  const auto& now = args.raw.positional;
  for (const Value& v : now) TRY_OK(rt.charge(v.weight()));
  const bool same = l.has_changed && std::equal(now.begin(), now.end(), l.last_changed.begin(),
                                                l.last_changed.end(), equal);
  l.has_changed = true;
  l.last_changed = now;
  return Value(!same);
}

constexpr Builtin kLoopMethods[] = {{"cycle", "*", cycle}, {"changed", "*", changed}};

// A Python attribute of the object; missing if it has none of that name.
Result<Value> attribute(Runtime& rt, const Value& object, std::string_view name) {
  const Builtin* method = nullptr;
  if (object.string()) {
    method = find_string_method(name);
  } else if (const Namespace* ns = object.ns()) {
    const Value* v = ns->attrs.find(name);
    return v ? *v : Value();
  } else if (const Loop* l = object.loop()) {
    bool found = false;
    TRY(Value v, loop_attribute(rt, *l, name, found));
    if (found) return v;
    for (const Builtin& b : kLoopMethods)
      if (b.name == name) method = &b;
  } else if (const Macro* m = object.macro()) {
    if (name == "name") return rt.literal(m->def->name);
  } else if (object.cycler() && name == "current" && !object.cycler()->joiner) {
    return object.cycler()->items[object.cycler()->at];
  } else {
    method = find_container_method(type_name(object), name);
  }
  if (method) return bound(method, object);
  if (is_mutator(object, name) || (name.starts_with("__") && name.ends_with("__")))
    return rt.undefined(
        cat("access to attribute '", name, "' of '", type_name(object), "' object is unsafe."));
  return Value();
}

// Subscription proper; missing where Python raises a TypeError or LookupError.
Result<Value> subscript(Runtime& rt, const Value& object, const Value& key) {
  if (const Dict* d = object.dict()) {
    TRY_OK(rt.charge(key.weight()));
    const Value* v = hashable(key) ? d->find(key) : nullptr;
    return v ? *v : Value();
  }
  const auto index = key.as_integer();
  if (!index) return Value();
  if (const String* s = object.string()) {
    const std::string& bytes = s->text.bytes();
    TRY_OK(rt.charge(bytes.size() / 64));
    const int64_t n = static_cast<int64_t>(count_code_points(bytes));
    const int64_t i = *index < 0 ? *index + n : *index;
    if (i < 0 || i >= n) return Value();
    const size_t at = byte_of_code_point(bytes, static_cast<size_t>(i));
    return rt.text(s->text.slice(at, at + utf8_size(bytes[at])), s->markup);
  }
  const Seq* s = object.seq();
  if (!s || s->kind >= SeqKind::kKeys) return Value();
  const auto n = static_cast<int64_t>(s->items.size());
  const int64_t i = *index < 0 ? *index + n : *index;
  return i < 0 || i >= n ? Value() : s->items[static_cast<size_t>(i)];
}

Result<Value> no_attribute(Runtime& rt, const Value& object, std::string_view name) {
  return rt.undefined(cat("'", object_repr(object), "' has no attribute '", name, "'"));
}

}  // namespace

Result<Value> get_attribute(Runtime& rt, const Value& object, std::string_view name) {
  if (object.is_undefined()) return rt.fail(object.undefined()->message);
  TRY(Value v, attribute(rt, object, name));
  if (!v.is_missing()) return v;
  if (const Dict* d = object.dict()) {
    if (const Value* item = d->find(name)) return *item;
  }
  return no_attribute(rt, object, name);
}

Result<Value> get_item(Runtime& rt, const Value& object, const Value& key) {
  if (object.is_undefined()) return rt.fail(object.undefined()->message);
  TRY(Value v, subscript(rt, object, key));
  if (!v.is_missing()) return v;
  if (const String* name = key.string()) {
    TRY(v, attribute(rt, object, name->text.bytes()));
    if (!v.is_missing()) return v;
    return no_attribute(rt, object, name->text.bytes());
  }
  TRY(Text shown, to_repr(rt, key));
  return rt.undefined(cat(object_repr(object), " has no element ", shown.bytes()));
}

namespace {

struct Range {
  int64_t from, to, step;
};

// Python's slice.indices(n).
Result<Range> indices(Runtime& rt, int64_t n, const Value& from, const Value& to,
                      const Value& step) {
  auto integer = [&](const Value& v, int64_t otherwise) -> Result<int64_t> {
    if (v.is_missing() || v.is_none()) return otherwise;
    if (const auto i = v.as_integer()) return *i;
    return rt.fail("slice indices must be integers or None");
  };
  TRY(int64_t s, integer(step, 1));
  if (s == 0) return rt.fail("slice step cannot be zero");
  s = std::clamp<int64_t>(s, -INT64_MAX, INT64_MAX);
  const int64_t low = s < 0 ? -1 : 0, high = s < 0 ? n - 1 : n;
  TRY(int64_t a, integer(from, s < 0 ? high : low));
  TRY(int64_t b, integer(to, s < 0 ? low : high));
  const bool a_given = !from.is_missing() && !from.is_none();
  const bool b_given = !to.is_missing() && !to.is_none();
  if (a_given) a = std::clamp(a < 0 ? std::max(a, -n - 1) + n : a, low, high);
  if (b_given) b = std::clamp(b < 0 ? std::max(b, -n - 1) + n : b, low, high);
  return Range{a, b, s};
}

}  // namespace

Result<Value> get_slice(Runtime& rt, const Value& object, const Value& from, const Value& to,
                        const Value& step) {
  if (object.is_undefined()) return rt.fail(object.undefined()->message);
  const Seq* seq = object.seq();
  if (!object.string() && (!seq || seq->kind >= SeqKind::kKeys))
    return rt.undefined(cat(object_repr(object), " has no element slice"));
  if (const String* s = object.string()) TRY_OK(rt.charge(s->text.size() / 16));
  const int64_t n = *length(object);
  const auto r = indices(rt, n, from, to, step);
  if (!r) return r.error();
  if (const String* s = object.string()) {
    std::vector<size_t> starts;  // byte of each character
    for (size_t at = 0; at < s->text.size(); at += utf8_size(s->text.bytes()[at]))
      starts.push_back(at);
    starts.push_back(s->text.size());
    if (r->step == 1) {
      const auto a = static_cast<size_t>(r->from),
                 b = static_cast<size_t>(std::max(r->from, r->to));
      return rt.text(s->text.slice(starts[a], starts[b]), s->markup);
    }
    Text t;
    for (int64_t i = r->from; r->step > 0 ? i < r->to : i > r->to;) {
      TRY_OK(rt.charge(1));
      t.append(s->text, starts[static_cast<size_t>(i)], starts[static_cast<size_t>(i) + 1]);
      if (__builtin_add_overflow(i, r->step, &i)) break;
    }
    return rt.text(std::move(t), s->markup);
  }
  std::vector<Value> items;
  for (int64_t i = r->from; r->step > 0 ? i < r->to : i > r->to;) {
    items.push_back(seq->items[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, r->step, &i)) break;
  }
  if (seq->kind == SeqKind::kRange)
    return rt.range(std::move(items), seq->start + r->from * seq->step,
                    seq->start + r->to * seq->step, seq->step * r->step);
  return rt.list(std::move(items), seq->kind);
}

bool is_iterable(const Value& v) {
  return v.string() || v.seq() || v.dict() || v.iterator() || v.is_undefined() || v.loop();
}

std::optional<int64_t> length(const Value& v) {
  if (auto s = v.string()) return static_cast<int64_t>(count_code_points(s->text.bytes()));
  if (auto s = v.seq()) return static_cast<int64_t>(s->items.size());
  if (auto d = v.dict()) return static_cast<int64_t>(d->items.size());
  if (auto l = v.loop()) return static_cast<int64_t>(l->items.size());
  if (v.is_undefined()) return 0;
  return std::nullopt;
}

Result<std::vector<Value>> iterate(Runtime& rt, const Value& v) {
  std::vector<Value> items;
  if (v.is_undefined()) return items;
  if (auto s = v.seq()) {
    TRY_OK(rt.charge(s->items.size() / 16));
    return s->items;
  }
  if (auto d = v.dict()) {
    TRY_OK(rt.charge(d->items.size() / 16));
    for (const auto& [key, value] : d->items) items.push_back(key);
    return items;
  }
  if (auto s = v.string()) {
    const std::string& bytes = s->text.bytes();
    for (size_t at = 0; at < bytes.size();) {
      const size_t end = at + utf8_size(bytes[at]);
      TRY(Value c, rt.text(s->text.slice(at, end)));
      items.push_back(std::move(c));
      at = end;
    }
    return items;
  }
  if (auto i = v.iterator()) {
    if (i->error) return Error{Code::kInvalid, *i->error};
    TRY_OK(rt.charge((i->items.size() - i->next) / 16));
    items.assign(i->items.begin() + static_cast<ptrdiff_t>(i->next), i->items.end());
    i->next = i->items.size();
    return items;
  }
  return rt.fail(cat("'", type_name(v), "' object is not iterable"));
}

}  // namespace mlxcel::text
