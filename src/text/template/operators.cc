// Python's arithmetic and comparisons.
#include <algorithm>
#include <cmath>

#include "text/template/runtime.h"

namespace mlxcel::text {
namespace {

std::string_view symbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    default:
      return "** or pow()";
  }
}

Error unsupported(const Runtime& rt, std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined()) return rt.fail(a.undefined()->message);
  if (b.is_undefined()) return rt.fail(b.undefined()->message);
  return rt.fail(cat("unsupported operand type(s) for ", op, ": '", type_name(a), "' and '",
                     type_name(b), "'"));
}

Error beyond(const Runtime& rt) { return rt.fail("an integer leaves 64 bits"); }

int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t r = b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

Result<Value> integer_power(Runtime& rt, int64_t a, int64_t b) {
  if (b < 0) {
    if (a == 0) return rt.fail("0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  int64_t result = 1;
  for (; b > 0; b--) {
    if (a == 0 || a == 1) return Value(a);
    if (a == -1) return Value(b % 2 ? -result : result);
    if (__builtin_mul_overflow(result, a, &result)) return beyond(rt);
  }
  return Value(result);
}

Result<Value> on_integers(Runtime& rt, Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &r) ? Result<Value>(beyond(rt)) : Value(r);
    case Op::kSubtract:
      return __builtin_sub_overflow(a, b, &r) ? Result<Value>(beyond(rt)) : Value(r);
    case Op::kMultiply:
      return __builtin_mul_overflow(a, b, &r) ? Result<Value>(beyond(rt)) : Value(r);
    case Op::kPower:
      return integer_power(rt, a, b);
    default:
      break;
  }
  if (b == 0) return rt.fail("division by zero");
  if (op == Op::kDivide) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (op == Op::kModulo) return Value(floor_mod(a, b));
  if (a == INT64_MIN && b == -1) return beyond(rt);
  return Value((a - floor_mod(a, b)) / b);
}

Result<Value> on_floats(Runtime& rt, Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value(a + b);
    case Op::kSubtract:
      return Value(a - b);
    case Op::kMultiply:
      return Value(a * b);
    case Op::kPower:
      if (a == 0 && b < 0) return rt.fail("0.0 cannot be raised to a negative power");
      if (a < 0 && std::trunc(b) != b && std::isfinite(b))
        return rt.fail("a complex number is not supported");
      return Value(std::pow(a, b));
    default:
      break;
  }
  if (b == 0) return rt.fail("float division by zero");
  if (op == Op::kDivide) return Value(a / b);
  const double mod = floor_mod(a, b);
  if (op == Op::kModulo) return Value(mod);
  double floor = std::floor((a - mod) / b);
  if ((a - mod) / b - floor > 0.5) floor += 1;
  return Value(floor == 0 ? std::copysign(0.0, a / b) : floor);
}

Result<Value> repeat(Runtime& rt, const Value& what, int64_t times) {
  const auto n = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (const String* s = what.string()) {
    if (!s->text.empty() && n > rt.limits().string_bytes / s->text.size())
      return rt.fail("a string grows too long");
    TRY_OK(rt.charge(s->text.empty() ? 0 : n / 4));
    Text t;
    for (size_t i = 0; i < (s->text.empty() ? 0 : n); i++) t.append(s->text);
    return rt.text(std::move(t), s->markup);
  }
  const Seq& s = *what.seq();
  if (!s.items.empty() && n > rt.limits().live_bytes / sizeof(Value) / s.items.size())
    return rt.fail("a list grows too long");
  TRY_OK(rt.charge(s.items.empty() ? 0 : n / 4));
  std::vector<Value> items;
  for (size_t i = 0; i < (s.items.empty() ? 0 : n); i++)
    items.insert(items.end(), s.items.begin(), s.items.end());
  return rt.list(std::move(items), s.kind);
}

Result<Value> add_strings(Runtime& rt, const Value& a, const Value& b) {
  const bool markup = a.string()->markup || b.string()->markup;
  auto part = [&](const Value& v) -> Result<Text> {
    if (markup && !v.string()->markup) return escape_html(rt, v);
    return v.string()->text;
  };
  TRY(Text sum, part(a));
  TRY(Text right, part(b));
  sum.append(right);
  return rt.text(std::move(sum), markup);
}

std::string_view symbol(Comparison op) {
  constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSymbols[static_cast<size_t>(op)];
}

// -1, 0, 1; 2 if a number is NaN.
Result<int> order(Runtime& rt, std::string_view sign, const Value& a, const Value& b) {
  TRY_OK(rt.charge_comparison(a, b));
  auto three_way = [](const auto& x, const auto& y) {
    return x < y ? -1 : x == y ? 0 : x > y ? 1 : 2;
  };
  if (a.as_integer() && b.as_integer()) return three_way(*a.as_integer(), *b.as_integer());
  if (a.as_number() && b.as_number()) return three_way(*a.as_number(), *b.as_number());
  if (a.string() && b.string())
    return three_way(a.string()->text.bytes().compare(b.string()->text.bytes()), 0);
  const bool sequences = (a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple());
  if (sequences) {
    const auto &x = a.seq()->items, &y = b.seq()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
      if (!equal(x[i], y[i])) return order(rt, sign, x[i], y[i]);
    return three_way(x.size(), y.size());
  }
  if (a.is_undefined() || b.is_undefined()) return unsupported(rt, sign, a, b);
  return rt.fail(cat("'", sign, "' not supported between instances of '", type_name(a), "' and '",
                     type_name(b), "'"));
}

}  // namespace

Result<Value> binary(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (a.as_integer() && b.as_integer())
    return on_integers(rt, op, *a.as_integer(), *b.as_integer());
  if (a.as_number() && b.as_number()) return on_floats(rt, op, *a.as_number(), *b.as_number());
  if (op == Op::kAdd && a.string() && b.string()) return add_strings(rt, a, b);
  if (op == Op::kAdd && ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple()))) {
    std::vector<Value> items = a.seq()->items;
    items.insert(items.end(), b.seq()->items.begin(), b.seq()->items.end());
    return rt.list(std::move(items), a.seq()->kind);
  }
  const auto repeats = [](const Value& v) { return v.string() || v.is_list() || v.is_tuple(); };
  if (op == Op::kMultiply && repeats(a) && b.as_integer()) return repeat(rt, a, *b.as_integer());
  if (op == Op::kMultiply && repeats(b) && a.as_integer()) return repeat(rt, b, *a.as_integer());
  if (op == Op::kModulo && a.string()) {
    TRY_OK(rt.charge(a.string()->text.size() / 8));
    TRY(Text t, format_percent(rt, a.string()->text, b));
    return rt.text(std::move(t), a.string()->markup);
  }
  return unsupported(rt, symbol(op), a, b);
}

Result<Value> negate(Runtime& rt, const Value& a) {
  if (const auto i = a.as_integer())
    return *i == INT64_MIN ? Result<Value>(beyond(rt)) : Value(-*i);
  if (const auto d = a.number()) return Value(-*d);
  if (a.is_undefined()) return rt.fail(a.undefined()->message);
  return rt.fail(cat("bad operand type for unary -: '", type_name(a), "'"));
}

Result<bool> less(Runtime& rt, const Value& a, const Value& b) {
  TRY(const int o, order(rt, "<", a, b));
  return o == -1;
}

Result<bool> compare(Runtime& rt, Comparison op, const Value& a, const Value& b) {
  if (op == Comparison::kEq || op == Comparison::kNe) {
    TRY_OK(rt.charge_comparison(a, b));
    return equal(a, b) == (op == Comparison::kEq);
  }
  if (op == Comparison::kIn) return contains(rt, b, a);
  if (op == Comparison::kNotIn) {
    TRY(const bool in, contains(rt, b, a));
    return !in;
  }
  TRY(const int o, order(rt, symbol(op), a, b));
  switch (op) {
    case Comparison::kLt:
      return o == -1;
    case Comparison::kLe:
      return o == -1 || o == 0;
    case Comparison::kGt:
      return o == 1;
    default:
      return o == 1 || o == 0;
  }
}

Result<bool> contains(Runtime& rt, const Value& container, const Value& item) {
  if (const String* s = container.string()) {
    if (!item.string())
      return rt.fail(cat("'in <string>' requires string as left operand, not ", type_name(item)));
    TRY_OK(rt.charge_search(s->text.size(), item.string()->text.size()));
    return s->text.bytes().find(item.string()->text.bytes()) != std::string::npos;
  }
  if (const Dict* d = container.dict()) {
    if (!hashable(item)) return rt.fail(cat("unhashable type: '", type_name(item), "'"));
    TRY_OK(rt.charge(item.weight()));
    return d->find(item) != nullptr;
  }
  if (!is_iterable(container))
    return rt.fail(cat("argument of type '", type_name(container), "' is not iterable"));
  if (const Seq* s = container.seq()) {
    for (const Value& v : s->items) {
      TRY(const bool same, compare(rt, Comparison::kEq, v, item));
      if (same) return true;
    }
    return false;
  }
  if (Iterator* i = container.iterator()) {  // reads up to the item
    while (i->next < i->items.size()) {
      TRY(const bool same, compare(rt, Comparison::kEq, i->items[i->next++], item));
      if (same) return true;
    }
  }
  TRY(auto items, iterate(rt, container));
  for (const Value& v : items) {
    TRY(const bool same, compare(rt, Comparison::kEq, v, item));
    if (same) return true;
  }
  return false;
}

}  // namespace mlxcel::text
