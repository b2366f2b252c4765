// Calls of macros and recursive loops.
#include <algorithm>

#include "text/template/builtins.h"
#include "text/template/interpreter.h"

namespace mlxcel::text {

Result<Value> Interpreter::call(const Value& callee, Args args) {
  TRY_OK(charge(1));
  if (const Function* f = callee.function())
    return call_builtin(*this, *f->builtin, f->self, std::move(args));
  if (const Macro* m = callee.macro()) return call_macro(*m, std::move(args));
  if (const Loop* l = callee.loop()) return call_loop(*l, std::move(args));
  if (Cycler* c = callee.cycler(); c && c->joiner) return c->at++ == 0 ? literal("") : c->items[0];
  if (callee.is_undefined()) return fail(callee.undefined()->message);
  return fail(cat("'", type_name(callee), "' object is not callable"));
}

Status Interpreter::enter() {
  if (calls_ >= limits().calls)
    return fail(cat("macros and loops call themselves more than ", limits().calls, " deep"));
  calls_++;
  return Ok{};
}

Result<Value> Interpreter::call_macro(const Macro& macro, Args args) {
  const int line_of_call = line();
  TRY(ScopePtr scope, bind(macro, std::move(args)));
  TRY_OK(enter());
  Text out;
  auto done = run(macro.def->body, scope, out);
  calls_--;
  if (!done) return done.error();
  at_line(line_of_call);
  return text(std::move(out));
}

Result<Interpreter::ScopePtr> Interpreter::bind(const Macro& macro, Args args) {
  const MacroDef& def = *macro.def;
  const auto scope = std::make_shared<Scope>(macro.scope);
  const size_t n = def.parameters.size();
  std::vector<Value> given(
      args.positional.begin(),
      args.positional.begin() + static_cast<ptrdiff_t>(std::min(n, args.positional.size())));
  auto take = [&](std::string_view key) {
    const auto it = std::find_if(args.named.begin(), args.named.end(),
                                 [&](const auto& a) { return a.first == key; });
    if (it == args.named.end()) return Value();
    Value v = std::move(it->second);
    args.named.erase(it);
    return v;
  };
  for (size_t i = given.size(); i < n; i++) given.push_back(take(def.parameters[i]));
  if (def.uses_caller && !def.has_parameter("caller")) {
    Value caller = take("caller");
    scope->set("caller", caller.is_missing() ? undefined("No caller defined") : caller);
  }
  if (def.uses_kwargs && !def.has_parameter("kwargs")) {
    std::vector<std::pair<Value, Value>> pairs;
    for (auto& [key, value] : args.named) {
      TRY(Value k, literal(key));
      pairs.emplace_back(std::move(k), std::move(value));
    }
    TRY(Value kwargs, dict(std::move(pairs)));
    scope->set("kwargs", std::move(kwargs));
  } else if (!args.named.empty()) {
    return fail(
        cat("macro '", def.name, "' takes no keyword argument '", args.named[0].first, "'"));
  }
  if (def.uses_varargs && !def.has_parameter("varargs")) {
    std::vector<Value> rest(
        args.positional.begin() + static_cast<ptrdiff_t>(std::min(n, args.positional.size())),
        args.positional.end());
    TRY(Value varargs, tuple(std::move(rest)));
    scope->set("varargs", std::move(varargs));
  } else if (args.positional.size() > n) {
    return fail(cat("macro '", def.name, "' takes not more than ", n, " argument(s)"));
  }
  const size_t required = n - def.defaults.size();
  for (size_t i = 0; i < n; i++) {
    if (given[i].is_missing() && i >= required) {
      TRY(given[i], evaluate(*def.defaults[i - required], scope));
    } else if (given[i].is_missing()) {
      given[i] = undefined(cat("parameter '", def.parameters[i], "' was not provided"));
    }
    scope->set(def.parameters[i], std::move(given[i]));
  }
  return scope;
}

Result<Value> Interpreter::call_loop(const Loop& loop, Args args) {
  if (!loop.recursive)
    return fail("The loop must have the 'recursive' marker to be called recursively.");
  if (args.positional.size() != 1 || !args.named.empty())
    return fail("loop() takes one argument: what to loop over");
  TRY_OK(enter());
  const int line_of_call = line();
  Text out;
  auto done = loop_over(*loop.recursive, args.positional[0], loop.depth0 + 1, loop.scope, out);
  calls_--;
  if (!done) return done.error();
  at_line(line_of_call);
  return text(std::move(out));
}

}  // namespace mlxcel::text
