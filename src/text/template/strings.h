// Operations on text that filters and str methods share. All keep the origin of every byte.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/template/runtime.h"

namespace mlxcel::text {

Text upper_text(const Text& t);
Text lower_text(const Text& t);
Text capitalize_text(const Text& t);
Text title_text(const Text& t);  // str.title()
Text swap_case_text(const Text& t);
Text fold_case_text(const Text& t);

// Without `chars` blanks are stripped.
Text strip_text(const Text& t, const std::optional<std::string>& chars, bool left, bool right);
// At most `count` times; a negative count means all.
Result<Text> replace_text(Runtime& rt, const Text& t, const Text& from, const Text& to,
                          int64_t count);
std::vector<Text> split_lines(const Text& t, bool keep_ends);

enum class Padding { kLeft, kRight, kCenter };  // where the text goes
Result<Text> pad_text(Runtime& rt, const Text& t, int64_t width, const Text& fill, Padding where);

}  // namespace mlxcel::text
