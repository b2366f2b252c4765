// The public face of the interpreter.
#include "text/template/template.h"

#include "text/template/interpreter.h"
#include "text/template/parser.h"

namespace mlxcel::text {

struct Template::Tree {
  Body body;
};

Result<Template> Template::parse(std::string source, std::string name) {
  Template t;
  auto tree = std::make_shared<Tree>();
  TRY(tree->body, parse_template(source, name));
  t.source_ = std::move(source);
  t.name_ = std::move(name);
  t.tree_ = std::move(tree);
  return t;
}

Result<Rendered> Template::render(const Value& context, const RenderOptions& options) const {
  if (!context.dict())
    return Error{Code::kInvalid,
                 cat(name_, ": expected a dict of variables, found ", type_name(context))};
  auto clock = options.clock ? options.clock : [] {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return local;
  };
  Interpreter interpreter(name_, options.limits, std::move(clock), *context.dict());
  TRY(Text text, interpreter.render(tree_->body));
  return Rendered{std::move(text), interpreter.steps()};
}

}  // namespace mlxcel::text
