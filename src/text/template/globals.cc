// Global functions: Jinja's, and those that transformers adds.
#include "text/template/builtins.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

constexpr int64_t kMaxRange = 100'000;  // as the sandbox of Jinja

R range(Runtime& rt, const Value&, Bound& a) {
  int64_t part[3] = {0, 0, 1};
  for (size_t i = 0; i < 3; i++) {
    if (!a.has(i)) continue;
    if (!a[i].as_integer())
      return rt.fail(a[i].is_undefined() ? a[i].undefined()->message
                                         : cat("'", type_name(a[i]),
                                               "' object cannot be interpreted as an integer"));
    part[i] = *a[i].as_integer();
  }
  if (!a.has(1)) std::swap(part[0], part[1]);
  const auto [from, to, step] = part;
  if (step == 0) return rt.fail("range() arg 3 must not be zero");
  auto seq = std::vector<Value>();
  for (int64_t i = from; step > 0 ? i < to : i > to;) {
    if (static_cast<int64_t>(seq.size()) >= kMaxRange)
      return rt.fail(cat("Range too big. The sandbox blocks ranges larger than ", kMaxRange, "."));
    seq.push_back(Value(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return rt.range(std::move(seq), from, to, step);
}

// The entries of dict(...) and namespace(...): a mapping or pairs, then keywords.
Result<std::vector<std::pair<Value, Value>>> entries(Runtime& rt, std::string_view name,
                                                     const Args& args) {
  if (args.positional.size() > 1)
    return rt.fail(cat(name, " expected at most 1 argument, got ", args.positional.size()));
  std::vector<std::pair<Value, Value>> pairs;
  if (!args.positional.empty()) {
    const Value& first = args.positional[0];
    if (first.dict()) {
      pairs = first.dict()->items;
    } else {
      TRY(auto items, iterate(rt, first));
      for (const Value& item : items) {
        TRY(auto pair, iterate(rt, item));
        if (pair.size() != 2) return rt.fail(cat(name, ": expected pairs"));
        if (!hashable(pair[0])) return rt.fail(cat("unhashable type: '", type_name(pair[0]), "'"));
        pairs.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [key, value] : args.named) pairs.emplace_back(make_string(key, false), value);
  return pairs;
}

R dict(Runtime& rt, const Value&, Bound& a) {
  TRY(auto pairs, entries(rt, "dict", a.raw));
  return rt.dict(std::move(pairs));
}

R make_namespace(Runtime& rt, const Value&, Bound& a) {
  TRY(auto pairs, entries(rt, "namespace", a.raw));
  for (const auto& [key, value] : pairs)
    if (key.string() && key.string()->text.bytes().starts_with('_'))
      return rt.fail("a namespace cannot hold names with an underscore in front");
  return rt.made_namespace(std::move(pairs));
}

R cycler(Runtime& rt, const Value&, Bound& a) {
  if (a.raw.positional.empty()) return rt.fail("at least one item has to be provided");
  auto c = std::make_shared<Cycler>();
  for (const Value& v : a.raw.positional) c->hold(v);
  c->items = std::move(a.raw.positional);
  return Value(std::move(c));
}

R joiner(Runtime& rt, const Value&, Bound& a) {
  auto c = std::make_shared<Cycler>();
  c->joiner = true;
  c->items = {a[0]};
  if (!a.has(0)) {
    TRY(c->items[0], rt.literal(", "));
  }
  return Value(std::move(c));
}

R lipsum(Runtime& rt, const Value&, Bound&) {
  return rt.fail("lipsum() is not supported: its text is random");
}

R raise_exception(Runtime& rt, const Value&, Bound& a) {
  TRY(Text message, to_text(rt, a[0]));
  return rt.fail(message.bytes());
}

R strftime_now(Runtime& rt, const Value&, Bound& a) {
  TRY(Text format, text_argument(rt, a, 0, "format"));
  if (format.empty()) return rt.literal("");
  const std::tm now = rt.now();
  char buffer[1024];
  const size_t n = std::strftime(buffer, sizeof buffer, format.bytes().c_str(), &now);
  if (n == 0) return rt.fail("strftime_now: expected a format for less than 1024 bytes");
  return rt.literal(std::string(buffer, n));
}

constexpr Builtin kGlobals[] = {
    {"range", "/!start stop step", range},
    {"dict", "*", dict},
    {"namespace", "*", make_namespace},
    {"cycler", "*", cycler},
    {"joiner", "sep", joiner},
    {"lipsum", "*", lipsum},
    {"raise_exception", "!message", raise_exception},
    {"strftime_now", "!format", strftime_now},
};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace mlxcel::text
