// What the two halves of the parser share: the token stream, the expression grammar
// (parse_expression.cc) and the statement grammar (parse_statement.cc).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "text/template/lexer.h"
#include "text/template/parser.h"

namespace mlxcel::text {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view name)
      : tokens_(std::move(tokens)), name_(name) {}

  Result<Body> whole();

 private:
  // Tokens
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect(std::string_view op);
  Status expect(Lexeme type);
  Status expect_name(std::string_view name);
  Result<std::string> any_name();
  Error fail(std::string_view what) const { return fail_at(current().line, what); }
  Error fail_at(int line, std::string_view what) const { return template_error(name_, line, what); }

  // Expressions
  Result<ExprPtr> expression(bool conditional = true);
  Result<ExprPtr> disjunction();
  Result<ExprPtr> conjunction();
  Result<ExprPtr> negation();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary(bool filters = true);
  Result<ExprPtr> primary(bool namespaces = false);
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr e);
  Result<ExprPtr> filters_and_tests(ExprPtr e);
  Result<ExprPtr> subscript(ExprPtr e);
  Result<ExprPtr> subscript_part();
  Result<ExprPtr> call(ExprPtr callee);
  Status arguments(Expr& call);
  Result<ExprPtr> filters(ExprPtr e, bool start_inline);
  Result<ExprPtr> test(ExprPtr e);
  struct TupleRule {
    bool simplified = false;    // names and literals only
    bool conditional = true;    // `x if y else z` may stand in it
    bool parentheses = false;   // an empty tuple is one
    bool namespaces = false;    // targets may be namespace attributes
    std::string_view end = "";  // a name that ends it
  };
  Result<ExprPtr> tuple(const TupleRule& rule);
  Result<ExprPtr> target(const TupleRule& rule);
  Status check_target(const Expr& target) const;
  ExprPtr node(Op op, int line) const;
  Result<ExprPtr> finish(ExprPtr e, int line) const;  // measures the depth, bounds it
  void note_name(std::string_view name);

  // Statements
  // Statements up to a tag named in `ends`, which becomes the current token; with no ends, all.
  Result<Body> body(std::initializer_list<std::string_view> ends);
  Result<std::unique_ptr<Stmt>> statement();
  Result<std::unique_ptr<Stmt>> parse_for(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_if(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_set(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_macro(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_call(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_filter(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_generation(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_with(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_block(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_print(std::unique_ptr<Stmt> s);
  Result<std::unique_ptr<Stmt>> parse_jump(std::unique_ptr<Stmt> s, Tag tag);
  Status parse_signature(MacroDef& macro);
  // The body behind the current tag, and the end tag's name.
  Result<Body> block(std::initializer_list<std::string_view> ends);
  Status macro_body(MacroDef& macro, std::string_view end);

  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  int nesting_ = 0;     // of expressions being parsed
  int statements_ = 0;  // nested
  int loops_ = 0;       // around here, inside the innermost macro
  int soft_ = 0;        // inside an if or a conditional: unknown filters fail only when used
  std::vector<Error> unknown_;     // filters and tests outside of those
  std::vector<MacroDef*> macros_;  // around here
};

}  // namespace mlxcel::text
