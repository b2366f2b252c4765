// Value: what a template computes with. Python's None, bool, int, float, str, list, tuple, dict,
// plus the objects that Jinja adds (undefined, namespace, loop, macro, ...).
//
// Strings, lists and dicts never change once made (transformers renders in an immutable sandbox),
// so they are shared freely. Integers have 64 bits; an operation that leaves them is an error.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/template/text.h"

namespace mlxcel::text {

class Value;
struct Loop;       // the special variable of a for loop
struct Macro;      // {% macro %} and the caller of a {% call %} block
struct Namespace;  // namespace(): the only thing that a template can change
struct Function;   // a builtin, or a method bound to its object
struct Cycler;     // cycler() and joiner()

// Bytes held by the values of one render; values of the context are not counted.
struct Meter {
  size_t live = 0;
};

// Base of everything shared. `depth` bounds the recursion of whoever walks or frees a value, and
// `weight` counts what such a walk comes by: a list that holds one list twice weighs it twice.
struct Shared {
  Shared() = default;
  Shared(const Shared&) = delete;
  ~Shared() {
    if (meter) meter->live -= bytes;
  }
  void charge(Meter* to, size_t n) {
    meter = to;
    bytes = n;
    if (meter) meter->live += bytes;
  }
  Meter* meter = nullptr;
  size_t bytes = 0;
  int depth = 1;
  size_t weight = 1;

  // `v` is held. No value that could be walked weighs more than kMaxWeight.
  void hold(const Value& v);
};

inline constexpr size_t kMaxWeight = size_t{1} << 60;

struct String : Shared {
  Text text;
  bool markup = false;  // went through |safe or |escape
};

enum class SeqKind : uint8_t { kList, kTuple, kRange, kKeys, kValues, kItems };

struct Seq : Shared {
  SeqKind kind = SeqKind::kList;
  std::vector<Value> items;
  int64_t start = 0, stop = 0, step = 1;  // of a range
};

// Insertion-ordered. Keys are hashable values; 1, 1.0 and true are one key, as in Python.
struct Dict : Shared {
  std::vector<std::pair<Value, Value>> items;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);  // only before the dict is shared

 private:
  std::optional<size_t> index_of(const Value& key) const;
  std::unordered_multimap<size_t, uint32_t> index_;  // hash -> position, once there are many
};

// A generator: read once. What would fail while reading fails when the reader comes to it.
struct Iterator : Shared {
  std::vector<Value> items;
  size_t next = 0;
  std::optional<std::string> error;  // whole message; after the last item
  const char* type = "generator";
};

struct Undefined : Shared {
  std::string message;  // why using it is an error
};

class Value {
 public:
  struct Missing {};  // an argument that was not given; no template sees it
  struct None {};
  template <class T>
  using Ref = std::shared_ptr<T>;

  Value() = default;
  Value(None) : v_(None{}) {}
  template <std::same_as<bool> B>
  Value(B b) : v_(b) {}  // nothing else turns into a bool by itself
  Value(int64_t i) : v_(i) {}
  Value(int i) : v_(int64_t{i}) {}
  Value(double d) : v_(d) {}
  Value(Ref<const String> s) : v_(std::move(s)) {}
  Value(Ref<const Seq> s) : v_(std::move(s)) {}
  Value(Ref<const Dict> d) : v_(std::move(d)) {}
  Value(Ref<Iterator> i) : v_(std::move(i)) {}
  Value(Ref<const Undefined> u) : v_(std::move(u)) {}
  Value(Ref<Namespace> n) : v_(std::move(n)) {}
  Value(Ref<Loop> l) : v_(std::move(l)) {}
  Value(Ref<const Macro> m) : v_(std::move(m)) {}
  Value(Ref<const Function> f) : v_(std::move(f)) {}
  Value(Ref<Cycler> c) : v_(std::move(c)) {}

  bool is_missing() const { return is<Missing>(); }
  bool is_none() const { return is<None>(); }
  bool is_undefined() const { return is<Ref<const Undefined>>(); }
  const bool* boolean() const { return std::get_if<bool>(&v_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&v_); }
  const double* number() const { return std::get_if<double>(&v_); }
  const String* string() const { return pointer<Ref<const String>>(); }
  const Seq* seq() const { return pointer<Ref<const Seq>>(); }
  const Dict* dict() const { return pointer<Ref<const Dict>>(); }
  Iterator* iterator() const { return pointer<Ref<Iterator>>(); }
  const Undefined* undefined() const { return pointer<Ref<const Undefined>>(); }
  Namespace* ns() const { return pointer<Ref<Namespace>>(); }
  Loop* loop() const { return pointer<Ref<Loop>>(); }
  const Macro* macro() const { return pointer<Ref<const Macro>>(); }
  const Function* function() const { return pointer<Ref<const Function>>(); }
  Cycler* cycler() const { return pointer<Ref<Cycler>>(); }

  bool is_list() const { return seq() && seq()->kind == SeqKind::kList; }
  bool is_tuple() const { return seq() && seq()->kind == SeqKind::kTuple; }
  // An int, or a bool counted as one.
  std::optional<int64_t> as_integer() const;
  // An int, bool or float.
  std::optional<double> as_number() const;
  int depth() const;
  size_t weight() const;
  // The shared object, for identity; null for plain values.
  const void* object() const;

 private:
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  template <class R>
  typename R::element_type* pointer() const {
    const R* ref = std::get_if<R>(&v_);
    return ref ? ref->get() : nullptr;
  }
  std::variant<Missing, None, bool, int64_t, double, Ref<const String>, Ref<const Seq>,
               Ref<const Dict>, Ref<Iterator>, Ref<const Undefined>, Ref<Namespace>, Ref<Loop>,
               Ref<const Macro>, Ref<const Function>, Ref<Cycler>>
      v_;
};

// Values of the context, not counted by any render.
Value make_string(std::string_view bytes, bool content);
Value make_list(std::vector<Value> items);
Value make_dict(std::vector<std::pair<Value, Value>> items);
Value none();

// Python's: type(x).__name__, bool(x), x == y, hash(x).
const char* type_name(const Value& value);
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
bool hashable(const Value& value);
size_t hash(const Value& value);

// Key order is kept and strings are marked as content. An integer beyond 64 bits is an error.
Result<Value> value_from_json(const json::value& value, bool content = true);
// Reads JSON text with exactly rounded numbers, which Boost.JSON 1.81 does not give (14 % of
// 17-digit numbers are off by one bit). Duplicate keys: the last one wins, as in Python.
Result<Value> value_from_json_text(std::string_view json, bool content = true);
// True if `text` is one JSON value, whose integers may have any size.
bool is_json_text(std::string_view text);

}  // namespace mlxcel::text
