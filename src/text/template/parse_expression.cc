// Tokens, operators by precedence, values and targets.
#include <algorithm>

#include "text/template/parser_state.h"

namespace mlxcel::text {
namespace {

std::string describe(const Token& t) {
  switch (t.type) {
    case Lexeme::kData:
      return "template data / text";
    case Lexeme::kBlockBegin:
      return "begin of statement block";
    case Lexeme::kBlockEnd:
      return "end of statement block";
    case Lexeme::kPrintBegin:
      return "begin of print statement";
    case Lexeme::kPrintEnd:
      return "end of print statement";
    case Lexeme::kString:
      return "string";
    case Lexeme::kInteger:
      return "integer";
    case Lexeme::kFloat:
      return "float";
    case Lexeme::kEnd:
      return "end of template";
    default:
      return t.text;
  }
}

}  // namespace

bool Parser::skip(std::string_view op) {
  if (!current().is(op)) return false;
  next();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  next();
  return true;
}

Status Parser::expect(std::string_view op) {
  if (skip(op)) return Ok{};
  return fail(cat("expected token '", op, "', got '", describe(current()), "'"));
}

Status Parser::expect(Lexeme type) {
  if (current().type != type)
    return fail(cat("expected token '", describe({type, 0, "name", {}}), "', got '",
                    describe(current()), "'"));
  next();
  return Ok{};
}

Status Parser::expect_name(std::string_view name) {
  if (skip_name(name)) return Ok{};
  return fail(cat("expected token '", name, "', got '", describe(current()), "'"));
}

Result<std::string> Parser::any_name() {
  std::string name = current().text;
  TRY_OK(expect(Lexeme::kName));
  return name;
}

ExprPtr Parser::node(Op op, int line) const {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->line = line;
  return e;
}

Result<ExprPtr> Parser::finish(ExprPtr e, int line) const {
  auto measure = [&](const ExprPtr& child) {
    if (child) e->depth = std::max(e->depth, 1 + child->depth);
  };
  for (const auto& child : e->children) measure(child);
  for (const auto& [name, child] : e->named) measure(child);
  measure(e->star);
  measure(e->star_star);
  if (e->depth > kMaxNesting)
    return fail_at(line, cat("expression nested deeper than ", kMaxNesting));
  return e;
}

void Parser::note_name(std::string_view name) {
  for (MacroDef* m : macros_) {
    m->uses_caller |= name == "caller";
    m->uses_kwargs |= name == "kwargs";
    m->uses_varargs |= name == "varargs";
  }
}

Result<ExprPtr> Parser::expression(bool conditional) {
  if (!conditional) return disjunction();
  const int line = current().line;
  // Unknown filters before an `if` are forgiven until they are used; the `if` comes later.
  const size_t unknown = unknown_.size();
  TRY(ExprPtr e, disjunction());
  if (current().is_name("if")) {
    while (unknown_.size() > unknown) unknown_.pop_back();
  }
  while (skip_name("if")) {
    ExprPtr whole = node(Op::kIf, line);
    soft_++;
    TRY(ExprPtr condition, disjunction());
    whole->children.push_back(std::move(condition));
    whole->children.push_back(std::move(e));
    ExprPtr otherwise;
    if (skip_name("else")) {
      TRY(otherwise, expression());
    }
    soft_--;
    whole->children.push_back(std::move(otherwise));
    TRY(e, finish(std::move(whole), line));
  }
  return e;
}

Result<ExprPtr> Parser::disjunction() {
  TRY(ExprPtr left, conjunction());
  while (current().is_name("or")) {
    const int line = next().line;
    ExprPtr e = node(Op::kOr, line);
    e->children.push_back(std::move(left));
    TRY(ExprPtr right, conjunction());
    e->children.push_back(std::move(right));
    TRY(left, finish(std::move(e), line));
  }
  return left;
}

Result<ExprPtr> Parser::conjunction() {
  TRY(ExprPtr left, negation());
  while (current().is_name("and")) {
    const int line = next().line;
    ExprPtr e = node(Op::kAnd, line);
    e->children.push_back(std::move(left));
    TRY(ExprPtr right, negation());
    e->children.push_back(std::move(right));
    TRY(left, finish(std::move(e), line));
  }
  return left;
}

Result<ExprPtr> Parser::negation() {
  const int line = current().line;
  int count = 0;
  while (skip_name("not")) count++;
  if (count > kMaxNesting) return fail_at(line, "expression nested too deeply");
  TRY(ExprPtr e, comparison());
  for (; count > 0; count--) {
    ExprPtr n = node(Op::kNot, line);
    n->children.push_back(std::move(e));
    TRY(e, finish(std::move(n), line));
  }
  return e;
}

Result<ExprPtr> Parser::comparison() {
  static constexpr std::pair<std::string_view, Comparison> kSigns[] = {
      {"==", Comparison::kEq}, {"!=", Comparison::kNe}, {"<", Comparison::kLt},
      {"<=", Comparison::kLe}, {">", Comparison::kGt},  {">=", Comparison::kGe}};
  const int line = current().line;
  TRY(ExprPtr e, sum());
  ExprPtr chain;
  for (;;) {
    Comparison sign;
    const auto* known = std::find_if(std::begin(kSigns), std::end(kSigns),
                                     [&](const auto& s) { return current().is(s.first); });
    if (known != std::end(kSigns)) {
      sign = known->second;
      next();
    } else if (skip_name("in")) {
      sign = Comparison::kIn;
    } else if (current().is_name("not") && look().is_name("in")) {
      next();
      next();
      sign = Comparison::kNotIn;
    } else {
      break;
    }
    if (!chain) {
      chain = node(Op::kCompare, line);
      chain->children.push_back(std::move(e));
    }
    TRY(ExprPtr right, sum());
    chain->children.push_back(std::move(right));
    chain->compare.push_back(sign);
  }
  if (!chain) return e;
  return finish(std::move(chain), line);
}

Result<ExprPtr> Parser::sum() {
  TRY(ExprPtr left, concatenation());
  while (current().is("+") || current().is("-")) {
    const int line = current().line;
    ExprPtr e = node(next().text == "+" ? Op::kAdd : Op::kSubtract, line);
    e->children.push_back(std::move(left));
    TRY(ExprPtr right, concatenation());
    e->children.push_back(std::move(right));
    TRY(left, finish(std::move(e), line));
  }
  return left;
}

Result<ExprPtr> Parser::concatenation() {
  const int line = current().line;
  TRY(ExprPtr first, product());
  if (!current().is("~")) return first;
  ExprPtr e = node(Op::kConcat, line);
  e->children.push_back(std::move(first));
  while (skip("~")) {
    TRY(ExprPtr part, product());
    e->children.push_back(std::move(part));
  }
  return finish(std::move(e), line);
}

Result<ExprPtr> Parser::product() {
  static constexpr std::pair<std::string_view, Op> kSigns[] = {
      {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
  TRY(ExprPtr left, power());
  for (;;) {
    const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [&](const auto& s) { return current().is(s.first); });
    if (sign == std::end(kSigns)) return left;
    const int line = next().line;
    ExprPtr e = node(sign->second, line);
    e->children.push_back(std::move(left));
    TRY(ExprPtr right, power());
    e->children.push_back(std::move(right));
    TRY(left, finish(std::move(e), line));
  }
}

// Left-associative, as in Jinja.
Result<ExprPtr> Parser::power() {
  TRY(ExprPtr left, unary());
  while (current().is("**")) {
    const int line = next().line;
    ExprPtr e = node(Op::kPower, line);
    e->children.push_back(std::move(left));
    TRY(ExprPtr right, unary());
    e->children.push_back(std::move(right));
    TRY(left, finish(std::move(e), line));
  }
  return left;
}

Result<ExprPtr> Parser::unary(bool with_filters) {
  if (++nesting_ > kMaxNesting) return fail(cat("expression nested deeper than ", kMaxNesting));
  const int line = current().line;
  ExprPtr e;
  if (current().is("-") || current().is("+")) {
    e = node(next().text == "-" ? Op::kNegate : Op::kPlus, line);
    TRY(ExprPtr operand, unary(false));
    e->children.push_back(std::move(operand));
    TRY(e, finish(std::move(e), line));
  } else {
    TRY(e, primary());
  }
  TRY(e, postfix(std::move(e)));
  if (with_filters) {
    TRY(e, filters_and_tests(std::move(e)));
  }
  nesting_--;
  return e;
}

Result<ExprPtr> Parser::primary(bool namespaces) {
  const Token& t = current();
  const int line = t.line;
  if (t.type == Lexeme::kName) {
    next();
    const bool yes = t.text == "true" || t.text == "True";
    if (yes || t.text == "false" || t.text == "False" || t.text == "none" || t.text == "None") {
      ExprPtr e = node(Op::kConst, line);
      e->constant = t.text == "none" || t.text == "None" ? none() : Value(yes);
      return e;
    }
    note_name(t.text);
    const bool reference = namespaces && skip(".");
    ExprPtr e = node(reference ? Op::kNamespaceRef : Op::kName, line);
    e->name = t.text;
    if (reference) {
      TRY(e->attribute, any_name());
    }
    return e;
  }
  if (t.type == Lexeme::kString) {
    std::string all;
    while (current().type == Lexeme::kString) all += next().text;
    ExprPtr e = node(Op::kConst, line);
    e->constant = make_string(all, false);
    return e;
  }
  if (t.type == Lexeme::kInteger || t.type == Lexeme::kFloat) {
    ExprPtr e = node(Op::kConst, line);
    e->constant = next().number;
    return e;
  }
  if (skip("(")) {
    TRY(ExprPtr e, tuple({.parentheses = true}));
    TRY_OK(expect(")"));
    return e;
  }
  if (t.is("[")) return list();
  if (t.is("{")) return dict();
  return fail(cat("unexpected '", describe(t), "'"));
}

Result<ExprPtr> Parser::list() {
  const int line = next().line;
  ExprPtr e = node(Op::kList, line);
  while (!current().is("]")) {
    if (!e->children.empty()) TRY_OK(expect(","));
    if (current().is("]")) break;
    TRY(ExprPtr item, expression());
    e->children.push_back(std::move(item));
  }
  TRY_OK(expect("]"));
  return finish(std::move(e), line);
}

Result<ExprPtr> Parser::dict() {
  const int line = next().line;
  ExprPtr e = node(Op::kDict, line);
  while (!current().is("}")) {
    if (!e->children.empty()) TRY_OK(expect(","));
    if (current().is("}")) break;
    TRY(ExprPtr key, expression());
    TRY_OK(expect(":"));
    TRY(ExprPtr value, expression());
    e->children.push_back(std::move(key));
    e->children.push_back(std::move(value));
  }
  TRY_OK(expect("}"));
  return finish(std::move(e), line);
}

Result<ExprPtr> Parser::tuple(const TupleRule& rule) {
  const int line = current().line;
  ExprPtr e = node(Op::kTuple, line);
  bool is_tuple = false;
  for (;;) {
    if (!e->children.empty()) TRY_OK(expect(","));
    const Token& t = current();
    if (t.type == Lexeme::kPrintEnd || t.type == Lexeme::kBlockEnd || t.is(")") ||
        (!rule.end.empty() && t.is_name(rule.end)))
      break;
    TRY(ExprPtr item, rule.simplified ? primary(rule.namespaces) : expression(rule.conditional));
    e->children.push_back(std::move(item));
    if (!current().is(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !e->children.empty()) return std::move(e->children[0]);
  if (!is_tuple && !rule.parentheses)
    return fail(cat("Expected an expression, got '", describe(current()), "'"));
  return finish(std::move(e), line);
}

Status Parser::check_target(const Expr& t) const {
  if (t.op == Op::kTuple) {
    for (const auto& child : t.children) TRY_OK(check_target(*child));
    return Ok{};
  }
  if (t.op == Op::kName || t.op == Op::kNamespaceRef) return Ok{};
  return fail_at(t.line, "expected a name to assign to");
}

Result<ExprPtr> Parser::target(const TupleRule& rule) {
  TRY(ExprPtr t, tuple(rule));
  TRY_OK(check_target(*t));
  return t;
}

}  // namespace mlxcel::text
