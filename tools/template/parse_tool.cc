// Parses answers for tools/check_arguments.py: one JSON object a line on stdin, {"dialect": name,
// "tools": list, "pieces": [text, ...]}, one a line on stdout: {"reasoning", "content", "calls":
// [{"name", "arguments"}]} or {"error": ...}.
#include <iostream>
#include <string>

#include "text/parse/stream_parser.h"

namespace {

using mlxcel::Result;
namespace text = mlxcel::text;
namespace json = mlxcel::json;

Result<json::object> answer(const std::string& line) {
  TRY(const text::Value request, text::value_from_json_text(line));
  const text::Dict* d = request.dict();
  const text::Value* dialect = d ? d->find("dialect") : nullptr;
  const text::Value* tools = d ? d->find("tools") : nullptr;
  const text::Value* pieces = d ? d->find("pieces") : nullptr;
  if (!dialect || !dialect->string() || !tools || !pieces || !pieces->is_list())
    return mlxcel::Error{mlxcel::Code::kInvalid, "expected dialect, tools and pieces"};
  text::ParseOptions options;
  options.tools = *tools;
  const auto parser = text::make_parser(dialect->string()->text.bytes(), options);
  if (!parser) return mlxcel::Error{mlxcel::Code::kInvalid, "expected a known dialect"};
  text::ParsedMessage message;
  for (const text::Value& piece : pieces->seq()->items) {
    if (piece.string()) message.append(parser->push({piece.string()->text.bytes(), false}));
  }
  message.append(parser->finish());
  json::array calls;
  for (const text::ToolCall& call : message.calls) {
    calls.push_back(json::object{{"name", call.name}, {"arguments", call.arguments}});
  }
  return json::object{
      {"reasoning", message.reasoning}, {"content", message.content}, {"calls", calls}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto made = answer(line);
    std::cout << json::serialize(made ? *made : json::object{{"error", made.error().message}})
              << "\n";
  }
}
