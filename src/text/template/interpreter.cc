// Statements.
#include "text/template/interpreter.h"

#include "text/template/builtins.h"

namespace mlxcel::text {

Interpreter::~Interpreter() {
  for (const auto& scope : captured_) scope->names.clear();
  for (const auto& ns : namespaces_) ns->attrs = {};
}

Result<Text> Interpreter::render(const Body& body) {
  root_ = std::make_shared<Scope>(nullptr);
  captured_.push_back(root_);
  Text out;
  TRY_OK(run(body, root_, out));
  return out;
}

Result<Interpreter::Flow> Interpreter::run(const Body& body, const ScopePtr& scope, Text& out) {
  for (const auto& s : body) {
    TRY(const Flow flow, run(*s, scope, out));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run(const Stmt& s, const ScopePtr& scope, Text& out) {
  at_line(s.line);
  TRY_OK(charge(1));
  switch (s.tag) {
    case Tag::kText:
      TRY_OK(print(s.text, out));
      break;
    case Tag::kPrint:
      TRY_OK(run_print(s, scope, out));
      break;
    case Tag::kIf:
      return run_if(s, scope, out);
    case Tag::kFor:
      return run_for(s, scope, out);
    case Tag::kSet:
    case Tag::kSetBlock:
      TRY_OK(run_set(s, scope));
      break;
    case Tag::kFilter:
      TRY_OK(run_filter(s, scope, out));
      break;
    case Tag::kMacro:
      scope->set(s.macro->name, make_macro(*s.macro, scope));
      break;
    case Tag::kCall:
      TRY_OK(run_call(s, scope, out));
      break;
    case Tag::kGeneration: {
      TRY(Value text, call(make_macro(*s.macro, scope), {}));
      TRY_OK(print(text, out));
      break;
    }
    case Tag::kWith:
      TRY_OK(run_with(s, scope, out));
      break;
    case Tag::kBlock:
      TRY_OK(run(s.bodies[0], std::make_shared<Scope>(root_), out));
      break;
    case Tag::kBreak:
      return Flow::kBreak;
    case Tag::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Status Interpreter::print(const Value& value, Text& out) {
  TRY(Text text, to_text(*this, value));
  if (out.size() + text.size() > limits().output_bytes)
    return fail(cat("the output has more than ", limits().output_bytes, " bytes"));
  out.append(text);
  return Ok{};
}

Status Interpreter::run_print(const Stmt& s, const ScopePtr& scope, Text& out) {
  for (const auto& e : s.exprs) {
    TRY(Value v, evaluate(*e, scope));
    TRY_OK(print(v, out));
  }
  return Ok{};
}

Result<Interpreter::Flow> Interpreter::run_if(const Stmt& s, const ScopePtr& scope, Text& out) {
  for (size_t i = 0; i < s.exprs.size(); i++) {
    TRY(Value condition, evaluate(*s.exprs[i], scope));
    if (truthy(condition)) return run(s.bodies[i], scope, out);
  }
  if (s.bodies.size() > s.exprs.size()) return run(s.bodies.back(), scope, out);
  return Flow::kNext;
}

Status Interpreter::run_set(const Stmt& s, const ScopePtr& scope) {
  if (s.tag == Tag::kSet) {
    TRY(Value value, evaluate(*s.exprs[0], scope));
    return assign(*s.target, std::move(value), scope);
  }
  Text block;
  TRY_OK(run(s.bodies[0], std::make_shared<Scope>(scope), block));
  TRY(Value value, text(std::move(block)));
  if (s.exprs[0]) {
    TRY(value, builtin_call(*s.exprs[0], &value, scope));
  }
  return assign(*s.target, std::move(value), scope);
}

Status Interpreter::run_filter(const Stmt& s, const ScopePtr& scope, Text& out) {
  Text block;
  const auto inner = std::make_shared<Scope>(scope);
  TRY_OK(run(s.bodies[0], inner, block));
  TRY(Value value, text(std::move(block)));
  TRY(value, builtin_call(*s.exprs[0], &value, inner));
  return print(value, out);
}

Status Interpreter::run_call(const Stmt& s, const ScopePtr& scope, Text& out) {
  const Expr& e = *s.exprs[0];
  TRY(Value callee, evaluate(*e.children[0], scope));
  TRY(Args args, arguments(e, scope));
  args.named.emplace_back("caller", make_macro(*s.macro, scope));
  at_line(s.line);
  TRY(Value value, call(callee, std::move(args)));
  return print(value, out);
}

Status Interpreter::run_with(const Stmt& s, const ScopePtr& scope, Text& out) {
  const auto inner = std::make_shared<Scope>(scope);
  for (size_t i = 0; i < s.targets.size(); i++) {
    TRY(Value value, evaluate(*s.exprs[i], scope));
    TRY_OK(assign(*s.targets[i], std::move(value), inner));
  }
  TRY_OK(run(s.bodies[0], inner, out));
  return Ok{};
}

Result<Interpreter::Flow> Interpreter::run_for(const Stmt& s, const ScopePtr& scope, Text& out) {
  TRY(Value iterable, evaluate(*s.exprs[0], scope));
  return loop_over(s, iterable, 0, scope, out);
}

Result<std::vector<Value>> Interpreter::loop_items(const Stmt& s, const Value& iterable,
                                                   const ScopePtr& scope) {
  TRY(std::vector<Value> items, iterate(*this, iterable));
  if (!s.exprs[1]) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    TRY_OK(charge(1));
    const auto inner = std::make_shared<Scope>(scope);
    TRY_OK(assign(*s.target, item, inner));
    TRY(Value condition, evaluate(*s.exprs[1], inner));
    if (truthy(condition)) kept.push_back(std::move(item));
  }
  return kept;
}

Result<Interpreter::Flow> Interpreter::loop_over(const Stmt& s, const Value& iterable,
                                                 int64_t depth0, const ScopePtr& scope, Text& out) {
  const auto loop = std::make_shared<Loop>();
  TRY(loop->items, loop_items(s, iterable, scope));
  loop->depth0 = depth0;
  if (s.recursive) {
    loop->recursive = &s;
    loop->scope = scope;
  }
  for (const Value& item : loop->items) loop->hold(item);
  bool completed = false;
  for (size_t i = 0; i < loop->items.size(); i++) {
    TRY_OK(charge(2));
    loop->index0 = static_cast<int64_t>(i);
    const auto inner = std::make_shared<Scope>(scope);
    inner->set("loop", Value(loop));
    TRY_OK(assign(*s.target, loop->items[i], inner));
    TRY(const Flow flow, run(s.bodies[0], inner, out));
    if (flow == Flow::kBreak) break;
    completed |= flow == Flow::kNext;
  }
  // Jinja runs the else block unless some round came to its end.
  if (!completed && s.bodies.size() > 1)
    return run(s.bodies[1], std::make_shared<Scope>(scope), out);
  return Flow::kNext;
}

Status Interpreter::assign(const Expr& target, Value value, const ScopePtr& scope) {
  if (target.op == Op::kName) {
    TRY_OK(charge(scope->names.size() / 16));
    scope->set(target.name, std::move(value));
    return Ok{};
  }
  if (target.op == Op::kNamespaceRef) {
    TRY(Value object, name(target.name, scope));
    if (!object.ns()) return fail("cannot assign attribute on non-namespace object");
    if (target.attribute.starts_with('_'))
      return fail(cat("a namespace cannot hold names with an underscore in front, found '",
                      target.attribute, "'"));
    TRY(Value key, literal(target.attribute));
    object.ns()->attrs.set(std::move(key), std::move(value));
    return Ok{};
  }
  TRY(std::vector<Value> items, iterate(*this, value));
  const size_t n = target.children.size();
  if (items.size() < n)
    return fail(cat("not enough values to unpack (expected ", n, ", got ", items.size(), ")"));
  if (items.size() > n) return fail(cat("too many values to unpack (expected ", n, ")"));
  for (size_t i = 0; i < n; i++) TRY_OK(assign(*target.children[i], items[i], scope));
  return Ok{};
}

Value Interpreter::make_macro(const MacroDef& def, const ScopePtr& scope) {
  if (captured_.back() != scope) captured_.push_back(scope);
  auto macro = std::make_shared<Macro>();
  macro->def = &def;
  macro->scope = scope;
  return Value(std::shared_ptr<const Macro>(std::move(macro)));
}

}  // namespace mlxcel::text
