// Runs a parsed template.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/template/runtime.h"

namespace mlxcel::text {

class Interpreter : public Runtime {
 public:
  Interpreter(std::string name, TemplateLimits limits, std::function<std::tm()> clock,
              const Dict& context)
      : Runtime(std::move(name), limits, std::move(clock)), context_(context) {}
  ~Interpreter() override;

  Result<Text> render(const Body& body);
  Result<Value> call(const Value& callee, Args args) override;

 private:
  using ScopePtr = std::shared_ptr<Scope>;
  enum class Flow { kNext, kBreak, kContinue };

  // Statements (interpreter.cc). Output goes to `out`.
  Result<Flow> run(const Body& body, const ScopePtr& scope, Text& out);
  Result<Flow> run(const Stmt& s, const ScopePtr& scope, Text& out);
  Result<Flow> run_if(const Stmt& s, const ScopePtr& scope, Text& out);
  Status run_set(const Stmt& s, const ScopePtr& scope);
  Status run_print(const Stmt& s, const ScopePtr& scope, Text& out);
  Status run_filter(const Stmt& s, const ScopePtr& scope, Text& out);
  Status run_call(const Stmt& s, const ScopePtr& scope, Text& out);
  Status run_with(const Stmt& s, const ScopePtr& scope, Text& out);
  Result<Flow> run_for(const Stmt& s, const ScopePtr& scope, Text& out);
  Result<Flow> loop_over(const Stmt& s, const Value& iterable, int64_t depth0,
                         const ScopePtr& scope, Text& out);
  Result<std::vector<Value>> loop_items(const Stmt& s, const Value& iterable,
                                        const ScopePtr& scope);
  Status assign(const Expr& target, Value value, const ScopePtr& scope);
  Status print(const Value& value, Text& out);
  Value make_macro(const MacroDef& def, const ScopePtr& scope);

  // Expressions (evaluate.cc)
  Result<Value> evaluate(const Expr& e, const ScopePtr& scope);
  Result<Value> evaluate_node(const Expr& e, const ScopePtr& scope);
  Result<Value> name(const std::string& name, const ScopePtr& scope);
  Result<Value> display(const Expr& e, const ScopePtr& scope);
  Result<Value> item(const Expr& e, const ScopePtr& scope);
  Result<Value> concat(const Expr& e, const ScopePtr& scope);
  Result<Value> comparison(const Expr& e, const ScopePtr& scope);
  Result<Value> conditional(const Expr& e, const ScopePtr& scope);
  Result<Value> builtin_call(const Expr& e, const Value* input, const ScopePtr& scope);
  Result<Args> arguments(const Expr& e, const ScopePtr& scope);

  // Calls (calls.cc)
  Result<Value> call_macro(const Macro& macro, Args args);
  Result<ScopePtr> bind(const Macro& macro, Args args);
  Result<Value> call_loop(const Loop& loop, Args args);
  Status enter();

  const Dict& context_;
  ScopePtr root_;
  std::vector<ScopePtr> captured_;  // scopes that macros hold, emptied at the end
  int calls_ = 0;
};

}  // namespace mlxcel::text
