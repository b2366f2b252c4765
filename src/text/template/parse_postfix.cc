// What may stand behind a value: attributes, subscripts, calls, filters and tests.
#include "text/template/builtins.h"
#include "text/template/parser_state.h"

namespace mlxcel::text {

Result<ExprPtr> Parser::postfix(ExprPtr e) {
  for (;;) {
    if (current().is(".") || current().is("[")) {
      TRY(e, subscript(std::move(e)));
    } else if (current().is("(")) {
      TRY(e, call(std::move(e)));
    } else {
      return e;
    }
  }
}

Result<ExprPtr> Parser::filters_and_tests(ExprPtr e) {
  for (;;) {
    if (current().is("|")) {
      TRY(e, filters(std::move(e), false));
    } else if (current().is_name("is")) {
      TRY(e, test(std::move(e)));
    } else if (current().is("(")) {
      TRY(e, call(std::move(e)));
    } else {
      return e;
    }
  }
}

Result<ExprPtr> Parser::subscript(ExprPtr object) {
  const int line = current().line;
  ExprPtr e = node(Op::kItem, line);
  e->children.push_back(std::move(object));
  if (skip(".")) {
    const Token& t = next();
    if (t.type == Lexeme::kName) {
      e->op = Op::kAttribute;
      e->name = t.text;
    } else if (t.type == Lexeme::kInteger) {
      e->children.push_back(node(Op::kConst, line));
      e->children.back()->constant = t.number;
    } else {
      return fail_at(t.line, "expected name or number");
    }
    return finish(std::move(e), line);
  }
  next();
  std::vector<ExprPtr> parts;
  while (!current().is("]")) {
    if (!parts.empty()) TRY_OK(expect(","));
    TRY(ExprPtr part, subscript_part());
    parts.push_back(std::move(part));
  }
  TRY_OK(expect("]"));
  if (parts.size() == 1) {
    e->children.push_back(std::move(parts[0]));
  } else {
    ExprPtr key = node(Op::kTuple, line);
    key->children = std::move(parts);
    TRY(key, finish(std::move(key), line));
    e->children.push_back(std::move(key));
  }
  return finish(std::move(e), line);
}

Result<ExprPtr> Parser::subscript_part() {
  const int line = current().line;
  ExprPtr first;
  if (!current().is(":")) {
    TRY(first, expression());
    if (!current().is(":")) return first;
  }
  ExprPtr e = node(Op::kSlice, line);
  e->children.push_back(std::move(first));
  for (int i = 0; i < 2; i++) {
    ExprPtr part;
    const bool given = i == 0 ? (next(), true) : skip(":");
    if (given && !current().is(":") && !current().is("]") && !current().is(",")) {
      TRY(part, expression());
    }
    e->children.push_back(std::move(part));
  }
  return finish(std::move(e), line);
}

Result<ExprPtr> Parser::call(ExprPtr callee) {
  const int line = current().line;
  ExprPtr e = node(Op::kCall, line);
  e->children.push_back(std::move(callee));
  TRY_OK(arguments(*e));
  return finish(std::move(e), line);
}

Status Parser::arguments(Expr& call) {
  const Error bad = fail("invalid syntax for function call expression");
  TRY_OK(expect("("));
  bool first = true;
  while (!current().is(")")) {
    if (!first) TRY_OK(expect(","));
    if (!first && current().is(")")) break;
    first = false;
    if (skip("*")) {
      if (call.star || call.star_star) return bad;
      TRY(call.star, expression());
    } else if (skip("**")) {
      if (call.star_star) return bad;
      TRY(call.star_star, expression());
    } else if (current().type == Lexeme::kName && look().is("=")) {
      if (call.star_star) return bad;
      std::string name = next().text;
      next();
      for (const auto& [n, v] : call.named)
        if (n == name) return fail(cat("keyword argument repeated: ", name));
      TRY(ExprPtr value, expression());
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (call.star || call.star_star || !call.named.empty()) return bad;
      TRY(ExprPtr value, expression());
      call.children.push_back(std::move(value));
    }
  }
  return expect(")");
}

Result<ExprPtr> Parser::filters(ExprPtr e, bool start_inline) {
  while (start_inline || skip("|")) {
    start_inline = false;
    const int line = current().line;
    ExprPtr f = node(Op::kFilter, line);
    TRY(f->name, any_name());
    while (skip(".")) {
      TRY(std::string more, any_name());
      f->name += "." + more;
    }
    f->builtin = find_filter(f->name);
    if (!f->builtin && soft_ == 0)
      unknown_.push_back(fail_at(line, cat("No filter named '", f->name, "'.")));
    f->children.push_back(std::move(e));
    if (current().is("(")) TRY_OK(arguments(*f));
    TRY(e, finish(std::move(f), line));
  }
  return e;
}

Result<ExprPtr> Parser::test(ExprPtr object) {
  const int line = next().line;
  const bool negated = skip_name("not");
  ExprPtr e = node(Op::kTest, line);
  TRY(e->name, any_name());
  while (skip(".")) {
    TRY(std::string more, any_name());
    e->name += "." + more;
  }
  e->builtin = find_test(e->name);
  if (!e->builtin && soft_ == 0)
    unknown_.push_back(fail_at(line, cat("No test named '", e->name, "'.")));
  e->children.push_back(std::move(object));
  const Token& t = current();
  const bool operand = t.type == Lexeme::kName || t.type == Lexeme::kString ||
                       t.type == Lexeme::kInteger || t.type == Lexeme::kFloat || t.is("[") ||
                       t.is("{");
  if (t.is("(")) {
    TRY_OK(arguments(*e));
  } else if (operand && !t.is_name("else") && !t.is_name("or") && !t.is_name("and")) {
    if (t.is_name("is")) return fail("You cannot chain multiple tests with is");
    TRY(ExprPtr argument, primary());
    TRY(argument, postfix(std::move(argument)));
    e->children.push_back(std::move(argument));
  }
  TRY(e, finish(std::move(e), line));
  if (!negated) return e;
  ExprPtr n = node(Op::kNot, line);
  n->children.push_back(std::move(e));
  return finish(std::move(n), line);
}

}  // namespace mlxcel::text
