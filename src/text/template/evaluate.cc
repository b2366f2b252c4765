// Expressions.
#include "text/template/builtins.h"
#include "text/template/interpreter.h"

namespace mlxcel::text {

Result<Value> Interpreter::evaluate(const Expr& e, const ScopePtr& scope) {
  TRY_OK(charge(1));
  at_line(e.line);
  return evaluate_node(e, scope);
}

Result<Value> Interpreter::evaluate_node(const Expr& e, const ScopePtr& scope) {
  switch (e.op) {
    case Op::kConst:
      return e.constant;
    case Op::kName:
    case Op::kNamespaceRef:
      return name(e.name, scope);
    case Op::kList:
    case Op::kTuple:
    case Op::kDict:
      return display(e, scope);
    case Op::kAttribute: {
      TRY(Value object, evaluate(*e.children[0], scope));
      at_line(e.line);
      return get_attribute(*this, object, e.name);
    }
    case Op::kItem:
      return item(e, scope);
    case Op::kSlice:
      return fail("a slice stands only alone in brackets");
    case Op::kCall: {
      TRY(Value callee, evaluate(*e.children[0], scope));
      TRY(Args args, arguments(e, scope));
      at_line(e.line);
      return call(callee, std::move(args));
    }
    case Op::kFilter:
    case Op::kTest:
      return builtin_call(e, nullptr, scope);
    case Op::kNot: {
      TRY(Value v, evaluate(*e.children[0], scope));
      return Value(!truthy(v));
    }
    case Op::kNegate: {
      TRY(Value v, evaluate(*e.children[0], scope));
      return negate(*this, v);
    }
    case Op::kPlus: {
      TRY(Value v, evaluate(*e.children[0], scope));
      if (v.number()) return v;
      if (const auto i = v.as_integer()) return Value(*i);
      return fail(v.is_undefined() ? v.undefined()->message
                                   : cat("bad operand type for unary +: '", type_name(v), "'"));
    }
    case Op::kAnd:
    case Op::kOr: {
      TRY(Value v, evaluate(*e.children[0], scope));
      if (truthy(v) == (e.op == Op::kOr)) return v;
      return evaluate(*e.children[1], scope);
    }
    case Op::kConcat:
      return concat(e, scope);
    case Op::kCompare:
      return comparison(e, scope);
    case Op::kIf:
      return conditional(e, scope);
    default: {
      TRY(Value a, evaluate(*e.children[0], scope));
      TRY(Value b, evaluate(*e.children[1], scope));
      at_line(e.line);
      return binary(*this, e.op, a, b);
    }
  }
}

Result<Value> Interpreter::name(const std::string& name, const ScopePtr& scope) {
  size_t compared = 0;
  for (const Scope* s = scope.get(); s; s = s->parent.get()) {
    compared += 1 + s->names.size();
    if (const Value* v = s->find_here(name)) {
      TRY_OK(charge(compared / 16));
      return *v;
    }
  }
  TRY_OK(charge(compared / 16));
  if (const Value* v = context_.find(name)) return *v;
  if (const Builtin* global = find_global(name)) {
    auto f = std::make_shared<Function>();
    f->builtin = global;
    return Value(std::shared_ptr<const Function>(std::move(f)));
  }
  return undefined(cat("'", name, "' is undefined"));
}

Result<Value> Interpreter::display(const Expr& e, const ScopePtr& scope) {
  std::vector<Value> items;
  for (const auto& child : e.children) {
    TRY(Value v, evaluate(*child, scope));
    items.push_back(std::move(v));
  }
  if (e.op == Op::kList) return list(std::move(items));
  if (e.op == Op::kTuple) return tuple(std::move(items));
  std::vector<std::pair<Value, Value>> pairs;
  for (size_t i = 0; i < items.size(); i += 2)
    pairs.emplace_back(std::move(items[i]), std::move(items[i + 1]));
  return dict(std::move(pairs));
}

Result<Value> Interpreter::item(const Expr& e, const ScopePtr& scope) {
  TRY(Value object, evaluate(*e.children[0], scope));
  const Expr& key = *e.children[1];
  if (key.op != Op::kSlice) {
    TRY(Value k, evaluate(key, scope));
    at_line(e.line);
    return get_item(*this, object, k);
  }
  Value bounds[3];
  for (size_t i = 0; i < 3; i++) {
    if (!key.children[i]) continue;
    TRY(bounds[i], evaluate(*key.children[i], scope));
  }
  at_line(e.line);
  return get_slice(*this, object, bounds[0], bounds[1], bounds[2]);
}

Result<Value> Interpreter::concat(const Expr& e, const ScopePtr& scope) {
  Text all;
  for (const auto& child : e.children) {
    TRY(Value v, evaluate(*child, scope));
    TRY(Text t, to_text(*this, v));
    all.append(t);
  }
  return text(std::move(all));
}

Result<Value> Interpreter::comparison(const Expr& e, const ScopePtr& scope) {
  TRY(Value left, evaluate(*e.children[0], scope));
  for (size_t i = 0; i < e.compare.size(); i++) {
    TRY(Value right, evaluate(*e.children[i + 1], scope));
    at_line(e.line);
    TRY(const bool holds, compare(*this, e.compare[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::conditional(const Expr& e, const ScopePtr& scope) {
  TRY(Value condition, evaluate(*e.children[0], scope));
  if (truthy(condition)) return evaluate(*e.children[1], scope);
  if (e.children[2]) return evaluate(*e.children[2], scope);
  return undefined(cat("the inline if-expression on line ", e.line,
                       " evaluated to false and no else section was defined."));
}

// Filters and tests. `input` is the value of the innermost filter of a block's chain.
Result<Value> Interpreter::builtin_call(const Expr& e, const Value* input, const ScopePtr& scope) {
  Value self;
  if (!e.children[0]) {
    self = *input;
  } else if (input) {
    TRY(self, builtin_call(*e.children[0], input, scope));
  } else {
    TRY(self, evaluate(*e.children[0], scope));
  }
  TRY(Args args, arguments(e, scope));
  at_line(e.line);
  if (!e.builtin)
    return fail(cat("No ", e.op == Op::kTest ? "test" : "filter", " named '", e.name, "'."));
  return call_builtin(*this, *e.builtin, self, std::move(args));
}

Result<Args> Interpreter::arguments(const Expr& e, const ScopePtr& scope) {
  Args args;
  for (size_t i = 1; i < e.children.size(); i++) {
    TRY(Value v, evaluate(*e.children[i], scope));
    args.positional.push_back(std::move(v));
  }
  if (e.star) {
    TRY(Value more, evaluate(*e.star, scope));
    TRY(auto items, iterate(*this, more));
    args.positional.insert(args.positional.end(), items.begin(), items.end());
  }
  for (const auto& [n, child] : e.named) {
    TRY(Value v, evaluate(*child, scope));
    args.named.emplace_back(n, std::move(v));
  }
  if (e.star_star) {
    TRY(Value more, evaluate(*e.star_star, scope));
    if (!more.dict()) return fail("argument after ** must be a mapping");
    const size_t count = more.dict()->items.size();
    // Each name is compared with all others.
    TRY_OK(charge(count + count * (count + args.named.size()) / 16));
    for (const auto& [key, value] : more.dict()->items) {
      if (!key.string()) return fail("keywords must be strings");
      for (const auto& [n, v] : args.named)
        if (n == key.string()->text.bytes())
          return fail(cat("got multiple values for keyword argument '", n, "'"));
      args.named.emplace_back(key.string()->text.bytes(), value);
    }
  }
  return args;
}

}  // namespace mlxcel::text
