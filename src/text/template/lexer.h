// Template source -> tokens, with the whitespace rules of transformers: trim_blocks,
// lstrip_blocks, no trailing newline; `-` and `+` beside a tag override them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/value.h"

namespace mlxcel::text {

enum class Lexeme : uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kPrintBegin,
  kPrintEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  Lexeme type;
  int line;
  std::string text;  // a string: without quotes and escapes
  Value number;

  bool is(std::string_view op) const { return type == Lexeme::kOperator && text == op; }
  bool is_name(std::string_view n) const { return type == Lexeme::kName && text == n; }
};

// "NAME:LINE: what": how every message about a template starts.
Error template_error(std::string_view name, int line, std::string_view what);

// The last token is kEnd. `name` stands in messages.
Result<std::vector<Token>> lex_template(std::string_view source, std::string_view name);

}  // namespace mlxcel::text
