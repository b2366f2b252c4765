#include "cli/json_lines.h"

#include <cstdio>
#include <iostream>

#include "base/cat.h"

namespace mlxcel {

Result<json::value> parse_json_line(const std::string& line) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  boost::system::error_code error;
  json::value value = json::parse(line, error, {}, options);
  if (error) return Error{Code::kInvalid, cat("expected a JSON value, found ", error.message())};
  return value;
}

Result<int> answer_json_lines(const AnswerLine& answer) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto answered = [&]() -> Result<json::value> {
      TRY(const json::value value, parse_json_line(line));
      return answer(value);
    }();
    const json::value shown =
        answered ? *answered : json::object{{"error", answered.error().message}};
    std::printf("%s\n", json::serialize(shown).c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace mlxcel
