// Template source -> tree, by Jinja's grammar.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/template/ast.h"

namespace mlxcel::text {

// Nested expressions and statements, each. Python itself gives up at about this depth.
inline constexpr int kMaxNesting = 100;

Result<Body> parse_template(std::string_view source, std::string_view name);

}  // namespace mlxcel::text
