// --jsonl: one JSON value a line on stdin, one a line on stdout.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

// Each answer is written before the next line is read. A line that cannot be done gives
// {"error": ...} and ends nothing.
using AnswerLine = std::function<Result<json::value>(const json::value& line)>;
Result<int> answer_json_lines(const AnswerLine& answer);

// Bytes that are no UTF-8 pass: the tokenizer says what they become.
Result<json::value> parse_json_line(const std::string& line);

}  // namespace mlxcel
