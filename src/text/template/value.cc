// Truth, equality, hashing and JSON trees.
#include "text/template/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/cat.h"
#include "text/template/objects.h"

namespace mlxcel::text {
namespace {

// Below this many entries a scan is faster than an index.
constexpr size_t kScan = 8;

struct Number {
  bool integral;
  int64_t i;
  double d;
};

std::optional<Number> number_of(const Value& v) {
  if (auto i = v.as_integer()) return Number{true, *i, 0};
  if (auto d = v.number()) return Number{false, 0, *d};
  return std::nullopt;
}

bool equal_numbers(const Number& a, const Number& b) {
  if (a.integral && b.integral) return a.i == b.i;
  if (!a.integral && !b.integral) return a.d == b.d;
  const double d = a.integral ? b.d : a.d;
  const int64_t i = a.integral ? a.i : b.i;
  return d >= -0x1p63 && d < 0x1p63 && std::trunc(d) == d && static_cast<int64_t>(d) == i;
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key);
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

std::optional<int64_t> Value::as_integer() const {
  if (auto i = integer()) return *i;
  if (auto b = boolean()) return *b ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (auto d = number()) return *d;
  if (auto i = as_integer()) return static_cast<double>(*i);
  return std::nullopt;
}

int Value::depth() const {
  return std::visit(
      [](const auto& v) -> int {
        if constexpr (requires { v->depth; }) {
          return v->depth;
        } else {
          return 0;
        }
      },
      v_);
}

size_t Value::weight() const {
  if (const String* s = string()) return 1 + s->text.size() / 64;
  if (const Seq* s = seq()) return s->weight;
  return dict() ? dict()->weight : 1;
}

void Shared::hold(const Value& v) {
  depth = std::max(depth, 1 + v.depth());
  weight = std::min(weight + v.weight(), kMaxWeight);
}

const void* Value::object() const {
  return std::visit(
      [](const auto& v) -> const void* {
        if constexpr (requires { v.get(); }) {
          return v.get();
        } else {
          return nullptr;
        }
      },
      v_);
}

std::optional<size_t> Dict::index_of(const Value& key) const {
  if (items.size() <= kScan) {
    for (size_t i = 0; i < items.size(); i++)
      if (equal(items[i].first, key)) return i;
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(hash(key));
  for (auto it = begin; it != end; ++it)
    if (equal(items[it->second].first, key)) return it->second;
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  const auto at = index_of(key);
  return at ? &items[*at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (items.size() > kScan) return find(make_string(key, false));
  for (const auto& [k, v] : items)
    if (k.string() && k.string()->text.bytes() == key) return &v;
  return nullptr;
}

void Dict::set(Value key, Value value) {
  if (const auto at = index_of(key)) {
    items[*at].second = std::move(value);
    return;
  }
  hold(key);
  hold(value);
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() <= kScan) return;
  if (items.size() == kScan + 1) {
    for (size_t i = 0; i < items.size(); i++) index_.emplace(hash(items[i].first), i);
  } else {
    index_.emplace(hash(items.back().first), items.size() - 1);
  }
}

Value make_string(std::string_view bytes, bool content) {
  auto s = std::make_shared<String>();
  s->text = Text(std::string(bytes), content);
  return Value(std::shared_ptr<const String>(std::move(s)));
}

Value make_list(std::vector<Value> items) {
  auto s = std::make_shared<Seq>();
  for (const Value& v : items) s->hold(v);
  s->items = std::move(items);
  return Value(std::shared_ptr<const Seq>(std::move(s)));
}

Value make_dict(std::vector<std::pair<Value, Value>> items) {
  auto d = std::make_shared<Dict>();
  for (auto& [key, value] : items) d->set(std::move(key), std::move(value));
  return Value(std::shared_ptr<const Dict>(std::move(d)));
}

Value none() { return Value(Value::None{}); }

const char* type_name(const Value& v) {
  if (v.is_none()) return "NoneType";
  if (v.boolean()) return "bool";
  if (v.integer()) return "int";
  if (v.number()) return "float";
  if (v.string()) return v.string()->markup ? "Markup" : "str";
  if (v.dict()) return "dict";
  if (v.iterator()) return v.iterator()->type;
  if (v.ns()) return "Namespace";
  if (v.loop()) return "LoopContext";
  if (v.macro()) return "Macro";
  if (v.cycler()) return v.cycler()->joiner ? "Joiner" : "Cycler";
  if (v.function()) return v.function()->self.is_missing() ? "function" : "method";
  if (!v.seq()) return "Undefined";
  switch (v.seq()->kind) {
    case SeqKind::kTuple:
      return "tuple";
    case SeqKind::kRange:
      return "range";
    case SeqKind::kKeys:
      return "dict_keys";
    case SeqKind::kValues:
      return "dict_values";
    case SeqKind::kItems:
      return "dict_items";
    default:
      return "list";
  }
}

bool truthy(const Value& v) {
  if (v.is_none() || v.is_undefined() || v.is_missing()) return false;
  if (auto b = v.boolean()) return *b;
  if (auto i = v.integer()) return *i != 0;
  if (auto d = v.number()) return *d != 0;
  if (auto s = v.string()) return !s->text.empty();
  if (auto s = v.seq()) return !s->items.empty();
  if (auto d = v.dict()) return !d->items.empty();
  if (auto l = v.loop()) return !l->items.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (const auto x = number_of(a)) {
    const auto y = number_of(b);
    return y && equal_numbers(*x, *y);
  }
  if (a.string()) return b.string() && a.string()->text.bytes() == b.string()->text.bytes();
  if (a.is_none()) return b.is_none();
  if (a.is_undefined()) return b.is_undefined();
  if (a.dict()) return b.dict() && equal_dicts(*a.dict(), *b.dict());
  if (a.seq()) {
    if (!b.seq() || a.seq()->kind != b.seq()->kind) return false;
    if (a.seq()->kind == SeqKind::kValues) return a.object() == b.object();
    return std::equal(a.seq()->items.begin(), a.seq()->items.end(), b.seq()->items.begin(),
                      b.seq()->items.end(), equal);
  }
  return a.object() && a.object() == b.object();
}

bool hashable(const Value& v) {
  if (v.dict() || v.is_list()) return false;
  if (v.is_tuple()) return std::all_of(v.seq()->items.begin(), v.seq()->items.end(), hashable);
  return true;
}

size_t hash(const Value& v) {
  if (auto i = v.as_integer()) return std::hash<double>()(static_cast<double>(*i));
  if (auto d = v.number()) return std::hash<double>()(*d);
  if (auto s = v.string()) return std::hash<std::string>()(s->text.bytes());
  if (v.is_undefined() || v.is_none()) return 1;
  if (auto s = v.seq()) {
    size_t h = 7;
    for (const Value& item : s->items) h = h * 1000003 + hash(item);
    return h;
  }
  return std::hash<const void*>()(v.object());
}

Result<Value> value_from_json(const json::value& j, bool content) {
  switch (j.kind()) {
    case json::kind::null:
      return none();
    case json::kind::bool_:
      return Value(j.get_bool());
    case json::kind::int64:
      return Value(j.get_int64());
    case json::kind::uint64:
      return Error{Code::kInvalid,
                   cat("json: expected an integer of 64 bits, found ", j.get_uint64())};
    case json::kind::double_:
      return Value(j.get_double());
    case json::kind::string:
      return make_string(std::string_view(j.get_string().data(), j.get_string().size()), content);
    case json::kind::array: {
      std::vector<Value> items;
      for (const auto& item : j.get_array()) {
        TRY(Value value, value_from_json(item, content));
        items.push_back(std::move(value));
      }
      return make_list(std::move(items));
    }
    case json::kind::object: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto& [key, item] : j.get_object()) {
        TRY(Value value, value_from_json(item, content));
        items.emplace_back(make_string(std::string_view(key.data(), key.size()), content),
                           std::move(value));
      }
      return make_dict(std::move(items));
    }
  }
  return none();
}

}  // namespace mlxcel::text
