// Tags and their bodies.
#include "text/template/parser_state.h"

namespace mlxcel::text {
namespace {

std::string alternatives(std::initializer_list<std::string_view> ends) {
  std::string s;
  for (std::string_view e : ends) s += cat(s.empty() ? "" : " or ", "'", e, "'");
  return s;
}

}  // namespace

Result<Body> Parser::whole() {
  TRY(Body all, body({}));
  if (!unknown_.empty()) return unknown_.front();
  return all;
}

Result<Body> Parser::body(std::initializer_list<std::string_view> ends) {
  if (++statements_ > kMaxNesting) return fail(cat("tags nested deeper than ", kMaxNesting));
  Body body;
  while (current().type != Lexeme::kEnd) {
    const int line = current().line;
    auto s = std::make_unique<Stmt>();
    s->line = line;
    if (current().type == Lexeme::kData) {
      s->tag = Tag::kText;
      s->text = make_string(next().text, false);
    } else if (current().type == Lexeme::kPrintBegin) {
      next();
      s->tag = Tag::kPrint;
      TRY(ExprPtr e, tuple({}));
      s->exprs.push_back(std::move(e));
      TRY_OK(expect(Lexeme::kPrintEnd));
    } else {
      TRY_OK(expect(Lexeme::kBlockBegin));
      for (std::string_view end : ends) {
        if (!current().is_name(end)) continue;
        statements_--;
        return body;
      }
      TRY(s, statement());
      s->line = line;
      TRY_OK(expect(Lexeme::kBlockEnd));
    }
    body.push_back(std::move(s));
  }
  if (ends.size() > 0)
    return fail(cat("Unexpected end of template. Jinja was looking for the following tags: ",
                    alternatives(ends), "."));
  statements_--;
  return body;
}

Result<Body> Parser::block(std::initializer_list<std::string_view> ends) {
  skip(":");
  TRY_OK(expect(Lexeme::kBlockEnd));
  return body(ends);
}

Result<std::unique_ptr<Stmt>> Parser::statement() {
  const Token& t = current();
  if (t.type != Lexeme::kName) return fail("tag name expected");
  const std::string tag = t.text;
  auto s = std::make_unique<Stmt>();
  s->line = t.line;
  next();
  if (tag == "if") return parse_if(std::move(s));
  if (tag == "for") return parse_for(std::move(s));
  if (tag == "set") return parse_set(std::move(s));
  if (tag == "macro") return parse_macro(std::move(s));
  if (tag == "call") return parse_call(std::move(s));
  if (tag == "filter") return parse_filter(std::move(s));
  if (tag == "generation") return parse_generation(std::move(s));
  if (tag == "with") return parse_with(std::move(s));
  if (tag == "block") return parse_block(std::move(s));
  if (tag == "print") return parse_print(std::move(s));
  if (tag == "break") return parse_jump(std::move(s), Tag::kBreak);
  if (tag == "continue") return parse_jump(std::move(s), Tag::kContinue);
  for (std::string_view other : {"include", "import", "from", "extends", "autoescape"}) {
    if (tag == other)
      return fail(cat("the tag '", tag, "' is not supported: a chat template is one file"));
  }
  return fail(cat("Encountered unknown tag '", tag, "'."));
}

Result<std::unique_ptr<Stmt>> Parser::parse_if(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kIf;
  soft_++;
  for (;;) {
    TRY(ExprPtr condition, tuple({.conditional = false}));
    s->exprs.push_back(std::move(condition));
    TRY(Body then, block({"elif", "else", "endif"}));
    s->bodies.push_back(std::move(then));
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      TRY(Body otherwise, block({"endif"}));
      s->bodies.push_back(std::move(otherwise));
    }
    break;
  }
  soft_--;
  TRY_OK(expect_name("endif"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_for(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kFor;
  TRY(s->target, target({.simplified = true, .end = "in"}));
  TRY_OK(expect_name("in"));
  TRY(ExprPtr iterable, tuple({.conditional = false, .end = "recursive"}));
  s->exprs.push_back(std::move(iterable));
  const int soft = std::exchange(soft_, 0);
  ExprPtr condition;
  if (skip_name("if")) {
    TRY(condition, expression());
  }
  s->exprs.push_back(std::move(condition));
  s->recursive = skip_name("recursive");
  loops_++;
  TRY(Body loop, block({"endfor", "else"}));
  loops_--;
  s->bodies.push_back(std::move(loop));
  if (skip_name("else")) {
    const int outside = s->recursive ? std::exchange(loops_, 0) : loops_;
    TRY(Body otherwise, block({"endfor"}));
    loops_ = outside;
    s->bodies.push_back(std::move(otherwise));
  }
  soft_ = soft;
  TRY_OK(expect_name("endfor"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_set(std::unique_ptr<Stmt> s) {
  TRY(s->target, target({.simplified = true, .namespaces = true}));
  ExprPtr value;
  if (skip("=")) {
    s->tag = Tag::kSet;
    TRY(value, tuple({}));
    s->exprs.push_back(std::move(value));
    return s;
  }
  s->tag = Tag::kSetBlock;
  if (current().is("|")) {
    TRY(value, filters(nullptr, false));
  }
  s->exprs.push_back(std::move(value));
  const int soft = std::exchange(soft_, 0);
  TRY(Body body, block({"endset"}));
  soft_ = soft;
  s->bodies.push_back(std::move(body));
  TRY_OK(expect_name("endset"));
  return s;
}

Status Parser::parse_signature(MacroDef& macro) {
  TRY_OK(expect("("));
  while (!current().is(")")) {
    if (!macro.parameters.empty()) TRY_OK(expect(","));
    TRY(std::string name, any_name());
    if (macro.has_parameter(name)) return fail(cat("parameter repeated: ", name));
    macro.parameters.push_back(std::move(name));
    if (skip("=")) {
      TRY(ExprPtr value, expression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return fail("non-default argument follows default argument");
    }
  }
  return expect(")");
}

Status Parser::macro_body(MacroDef& macro, std::string_view end) {
  const int soft = std::exchange(soft_, 0), loops = std::exchange(loops_, 0);
  macros_.push_back(&macro);
  TRY(macro.body, block({end}));
  macros_.pop_back();
  soft_ = soft;
  loops_ = loops;
  return expect_name(end);
}

Result<std::unique_ptr<Stmt>> Parser::parse_macro(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kMacro;
  s->macro = std::make_unique<MacroDef>();
  s->macro->line = s->line;
  TRY(s->macro->name, any_name());
  TRY_OK(parse_signature(*s->macro));
  TRY_OK(macro_body(*s->macro, "endmacro"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_call(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kCall;
  s->macro = std::make_unique<MacroDef>();
  s->macro->name = "caller";
  s->macro->line = s->line;
  if (current().is("(")) TRY_OK(parse_signature(*s->macro));
  TRY(ExprPtr call, expression());
  if (call->op != Op::kCall) return fail_at(s->line, "expected call");
  s->exprs.push_back(std::move(call));
  TRY_OK(macro_body(*s->macro, "endcall"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_filter(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kFilter;
  const int soft = std::exchange(soft_, 0);
  TRY(ExprPtr chain, filters(nullptr, true));
  s->exprs.push_back(std::move(chain));
  TRY(Body body, block({"endfilter"}));
  soft_ = soft;
  s->bodies.push_back(std::move(body));
  TRY_OK(expect_name("endfilter"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_generation(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kGeneration;
  s->macro = std::make_unique<MacroDef>();
  s->macro->name = "caller";
  s->macro->line = s->line;
  TRY_OK(macro_body(*s->macro, "endgeneration"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_with(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kWith;
  const int soft = std::exchange(soft_, 0);
  while (current().type != Lexeme::kBlockEnd) {
    if (!s->targets.empty()) TRY_OK(expect(","));
    TRY(ExprPtr name, target({.simplified = true}));
    TRY_OK(expect("="));
    TRY(ExprPtr value, expression());
    s->targets.push_back(std::move(name));
    s->exprs.push_back(std::move(value));
  }
  TRY(Body body, block({"endwith"}));
  soft_ = soft;
  s->bodies.push_back(std::move(body));
  TRY_OK(expect_name("endwith"));
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_block(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kBlock;
  TRY(std::string name, any_name());
  const int soft = std::exchange(soft_, 0), loops = std::exchange(loops_, 0);
  TRY(Body body, block({"endblock"}));
  soft_ = soft;
  loops_ = loops;
  s->bodies.push_back(std::move(body));
  TRY_OK(expect_name("endblock"));
  skip_name(name);
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_print(std::unique_ptr<Stmt> s) {
  s->tag = Tag::kPrint;
  while (current().type != Lexeme::kBlockEnd) {
    if (!s->exprs.empty()) TRY_OK(expect(","));
    TRY(ExprPtr e, expression());
    s->exprs.push_back(std::move(e));
  }
  return s;
}

Result<std::unique_ptr<Stmt>> Parser::parse_jump(std::unique_ptr<Stmt> s, Tag tag) {
  if (loops_ == 0)
    return fail_at(s->line, cat("'", tag == Tag::kBreak ? "break" : "continue", "' outside loop"));
  s->tag = tag;
  return s;
}

Result<Body> parse_template(std::string_view source, std::string_view name) {
  TRY(auto tokens, lex_template(source, name));
  return Parser(std::move(tokens), name).whole();
}

}  // namespace mlxcel::text
