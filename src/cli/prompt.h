// Texts on a command line.
#pragma once

#include <string>

#include "base/result.h"

namespace mlxcel {

// A prompt; for "-" standard input without its last newline.
Result<std::string> read_prompt(const std::string& prompt);
// An Error that names the option and the byte if the text is not UTF-8.
Status check_text(const std::string& option, const std::string& text);
// The same as a check of an option (domains.h).
std::string text_domain(const std::string& text);

}  // namespace mlxcel
