// {{ x is ... }}.
#include <cmath>

#include "text/template/builtins.h"
#include "text/template/chars.h"
#include "text/template/strings.h"

namespace mlxcel::text {
namespace {

using R = Result<Value>;

R remainder(Runtime& rt, const Value& v, const Value& by, int64_t wanted) {
  TRY(Value r, binary(rt, Op::kModulo, v, by));
  return Value(equal(r, Value(wanted)));
}

// Python's islower and isupper: some cased character, and none of the other case.
R cased(Runtime& rt, const Value& v, bool upper) {
  TRY(Text t, to_text(rt, v));
  TRY_OK(rt.charge(t.size() / 8));
  bool some = false;
  for (size_t at = 0; at < t.size();) {
    const char32_t c = next_code_point(t.bytes(), at);
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return Value(false);
    some |= upper ? is_upper(c) : is_lower(c);
  }
  return Value(some);
}

R ordered(Runtime& rt, Comparison op, const Value& a, const Bound& b) {
  TRY(const bool holds, compare(rt, op, a, b[0]));
  return Value(holds);
}

R is_sequence(const Value& v) {
  return Value(
      (v.string() || v.dict() || v.is_undefined() || (v.seq() && v.seq()->kind < SeqKind::kKeys)));
}

bool is_callable(const Value& v) {
  return v.function() || v.macro() || v.loop() || v.is_undefined() ||
         (v.cycler() && v.cycler()->joiner);
}

R same(const Value& a, const Value& b) {
  if (a.object() || b.object()) return Value(a.object() == b.object());
  return Value(std::string_view(type_name(a)) == type_name(b) && equal(a, b));
}

#define MLXCEL_TEST(expression)                    \
  [](Runtime& rt, const Value& v, Bound& a) -> R { \
    (void)rt;                                      \
    (void)v;                                       \
    (void)a;                                       \
    return expression;                             \
  }

constexpr Builtin kTests[] = {
    {"odd", "", MLXCEL_TEST(remainder(rt, v, Value(2), 1))},
    {"even", "", MLXCEL_TEST(remainder(rt, v, Value(2), 0))},
    {"divisibleby", "!num", MLXCEL_TEST(remainder(rt, v, a[0], 0))},
    {"defined", "", MLXCEL_TEST(Value(!v.is_undefined()))},
    {"undefined", "", MLXCEL_TEST(Value(v.is_undefined()))},
    {"filter", "", MLXCEL_TEST(Value(v.string() && find_filter(v.string()->text.bytes())))},
    {"test", "", MLXCEL_TEST(Value(v.string() && find_test(v.string()->text.bytes())))},
    {"none", "", MLXCEL_TEST(Value(v.is_none()))},
    {"boolean", "", MLXCEL_TEST(Value(v.boolean() != nullptr))},
    {"false", "", MLXCEL_TEST(Value(v.boolean() && !*v.boolean()))},
    {"true", "", MLXCEL_TEST(Value(v.boolean() && *v.boolean()))},
    {"integer", "", MLXCEL_TEST(Value(v.integer() != nullptr))},
    {"float", "", MLXCEL_TEST(Value(v.number() != nullptr))},
    {"lower", "", MLXCEL_TEST(cased(rt, v, false))},
    {"upper", "", MLXCEL_TEST(cased(rt, v, true))},
    {"string", "", MLXCEL_TEST(Value(v.string() != nullptr))},
    {"mapping", "", MLXCEL_TEST(Value(v.dict() != nullptr))},
    {"number", "", MLXCEL_TEST(Value(v.as_number().has_value()))},
    {"sequence", "", MLXCEL_TEST(is_sequence(v))},
    {"iterable", "", MLXCEL_TEST(Value(is_iterable(v)))},
    {"callable", "", MLXCEL_TEST(Value(is_callable(v)))},
    {"sameas", "!other", MLXCEL_TEST(same(v, a[0]))},
    {"escaped", "", MLXCEL_TEST(Value(v.string() && v.string()->markup))},
    {"in", "!seq", MLXCEL_TEST(ordered(rt, Comparison::kIn, v, a))},
    {"==", "!b", MLXCEL_TEST(ordered(rt, Comparison::kEq, v, a))},
    {"eq", "!b", MLXCEL_TEST(ordered(rt, Comparison::kEq, v, a))},
    {"equalto", "!b", MLXCEL_TEST(ordered(rt, Comparison::kEq, v, a))},
    {"!=", "!b", MLXCEL_TEST(ordered(rt, Comparison::kNe, v, a))},
    {"ne", "!b", MLXCEL_TEST(ordered(rt, Comparison::kNe, v, a))},
    {">", "!b", MLXCEL_TEST(ordered(rt, Comparison::kGt, v, a))},
    {"gt", "!b", MLXCEL_TEST(ordered(rt, Comparison::kGt, v, a))},
    {"greaterthan", "!b", MLXCEL_TEST(ordered(rt, Comparison::kGt, v, a))},
    {"ge", "!b", MLXCEL_TEST(ordered(rt, Comparison::kGe, v, a))},
    {">=", "!b", MLXCEL_TEST(ordered(rt, Comparison::kGe, v, a))},
    {"<", "!b", MLXCEL_TEST(ordered(rt, Comparison::kLt, v, a))},
    {"lt", "!b", MLXCEL_TEST(ordered(rt, Comparison::kLt, v, a))},
    {"lessthan", "!b", MLXCEL_TEST(ordered(rt, Comparison::kLt, v, a))},
    {"<=", "!b", MLXCEL_TEST(ordered(rt, Comparison::kLe, v, a))},
    {"le", "!b", MLXCEL_TEST(ordered(rt, Comparison::kLe, v, a))},
};

#undef MLXCEL_TEST

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace mlxcel::text
