#include "cli/prompt.h"

#include <cstdio>

#include "base/cat.h"
#include "cli/arguments.h"
#include "text/utf8.h"

namespace mlxcel {

Result<std::string> read_prompt(const std::string& prompt) {
  if (prompt != "-") return prompt;
  TRY(std::string text, read_text("-"));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string text_domain(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid) {
      char found[8];
      std::snprintf(found, sizeof found, "%02X",
                    static_cast<unsigned>(static_cast<uint8_t>(text[at])));
      return cat("byte ", at, ": expected UTF-8, found ", found,
                 "; convert it, for example with iconv -t UTF-8");
    }
    at += c.size;
  }
  return "";
}

Status check_text(const std::string& option, const std::string& text) {
  const std::string wrong = text_domain(text);
  if (wrong.empty()) return Ok{};
  return Error{Code::kInvalid, cat(option, ": ", wrong)};
}

}  // namespace mlxcel
