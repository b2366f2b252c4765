// [f(a=1, b='x'), g()]: Llama 4, Olmo, LFM. The expression grammar of templates reads it.
#include <algorithm>

#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"
#include "text/template/parser.h"
#include "text/template/runtime.h"

namespace mlxcel::text {
namespace {

std::optional<std::string> literal(const Expr& e) {
  auto joined = [&](char open, char close, bool pairs) -> std::optional<std::string> {
    std::string out(1, open);
    for (size_t i = 0; i < e.children.size(); i++) {
      const auto item = literal(*e.children[i]);
      if (!item) return std::nullopt;
      if (i > 0) out += pairs && i % 2 == 1 ? ": " : ", ";
      out += *item;
    }
    return out + close;
  };
  switch (e.op) {
    case Op::kConst:
      if (e.constant.is_none()) return "null";
      if (auto b = e.constant.boolean()) return *b ? "true" : "false";
      if (auto i = e.constant.integer()) return cat(*i);
      if (auto d = e.constant.number()) return float_repr(*d);
      return json_quote(e.constant.string()->text.bytes());
    case Op::kNegate: {
      const auto number = literal(*e.children[0]);
      if (!number || (*number)[0] < '0' || (*number)[0] > '9') return std::nullopt;
      return "-" + *number;
    }
    case Op::kName:  // as JSON spells it
      return e.name == "null" ? std::optional<std::string>("null") : std::nullopt;
    case Op::kList:
    case Op::kTuple:
      return joined('[', ']', false);
    case Op::kDict: {
      for (size_t i = 0; i < e.children.size(); i += 2)
        if (e.children[i]->op != Op::kConst || !e.children[i]->constant.string())
          return std::nullopt;
      return joined('{', '}', true);
    }
    default:
      return std::nullopt;
  }
}

// f or module.f
std::optional<std::string> callee(const Expr& e) {
  if (e.op == Op::kName) return e.name;
  if (e.op != Op::kAttribute) return std::nullopt;
  const auto module = callee(*e.children[0]);
  return module ? std::optional(*module + "." + e.name) : std::nullopt;
}

std::optional<ToolCall> one(const Expr& e) {
  const auto name = e.op == Op::kCall ? callee(*e.children[0]) : std::nullopt;
  if (!name || e.children.size() > 1 || e.star || e.star_star) return std::nullopt;
  ToolCall call{*name, "{", ""};
  for (const auto& [key, value] : e.named) {
    const auto text = literal(*value);
    if (!text) return std::nullopt;
    if (call.arguments.size() > 1) call.arguments += ", ";
    call.arguments += json_quote(key) + ": " + *text;
  }
  call.arguments += "}";
  return call;
}

std::optional<Calls> calls_of(std::string_view body, const ToolSchemas&) {
  const std::string_view list = trim_blanks(body);
  if (!list.starts_with('[') || !list.ends_with(']')) return std::nullopt;
  const auto parsed = parse_template(cat("{{ ", list, " }}"), "calls");
  if (!parsed || parsed->size() != 1 || (*parsed)[0]->tag != Tag::kPrint) return std::nullopt;
  const Expr& e = *(*parsed)[0]->exprs[0];
  if (e.op != Op::kList || e.children.empty()) return std::nullopt;
  std::vector<ToolCall> calls;
  for (const auto& item : e.children) {
    const auto call = one(*item);
    if (!call) return std::nullopt;
    calls.push_back(*call);
  }
  return calls;
}

}  // namespace

std::unique_ptr<CallBody> pythonic_body(const ToolSchemas& schemas) {
  return whole_body(calls_of, schemas);
}

}  // namespace mlxcel::text
