// Renders templates for tools/diff_templates.py: one JSON object a line on stdin,
// {"template": source, "context": variables, "clock": seconds}, one a line on stdout:
// {"text": ..., "steps": of the limit} or {"error": ...}.
#include <iostream>
#include <map>
#include <string>

#include "text/template/template.h"

namespace {

using mlxcel::Result;
namespace text = mlxcel::text;

Result<text::Rendered> answer(const std::string& line) {
  static std::map<std::string, text::Template> parsed;
  TRY(const text::Value request, text::value_from_json_text(line));
  const text::Value* source = request.dict() ? request.dict()->find("template") : nullptr;
  const text::Value* context = source ? request.dict()->find("context") : nullptr;
  if (!context || !source->string())
    return mlxcel::Error{mlxcel::Code::kInvalid, "expected template and context"};
  text::RenderOptions options;
  if (const text::Value* clock = request.dict()->find("clock")) {
    const std::time_t seconds = clock->as_integer().value_or(0);
    options.clock = [seconds] {
      std::tm utc{};
      gmtime_r(&seconds, &utc);
      return utc;
    };
  }
  const std::string& key = source->string()->text.bytes();
  auto known = parsed.find(key);
  if (known == parsed.end()) {
    TRY(text::Template made, text::Template::parse(key, "template"));
    known = parsed.emplace(key, std::move(made)).first;
  }
  return known->second.render(*context, options);
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto rendered = answer(line);
    mlxcel::json::object out;
    if (rendered) {
      out["text"] = rendered->string();
      out["steps"] = rendered->steps;
    } else {
      out["error"] = rendered.error().message;
    }
    std::cout << mlxcel::json::serialize(out) << "\n" << std::flush;
  }
}
