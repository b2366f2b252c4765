#include "text/control_tokens.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "text/end_ids.h"
#include "text/parse/stream_parser.h"

namespace mlxcel {
namespace {

constexpr std::string_view kBar = "\xEF\xBD\x9C";  // U+FF5C, in DeepSeek's control tokens

// [INST], [/TOOL_RESULTS]
bool is_bracketed_name(std::string_view s) {
  if (s.size() < 4 || !s.starts_with('[') || !s.ends_with(']')) return false;
  s = s.substr(1, s.size() - 2);
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; });
}

bool is_mark(std::string_view s) {
  static const std::vector<std::string_view> marks = text::all_marks();
  constexpr std::string_view kMore[] = {"<tool_response>", "</tool_response>", "<start_of_turn>",
                                        "<tools>", "</tools>"};
  return std::find(marks.begin(), marks.end(), s) != marks.end() ||
         std::find(std::begin(kMore), std::end(kMore), s) != std::end(kMore);
}

}  // namespace

bool is_control(const AddedToken& token) {
  const std::string_view s = token.content;
  if (token.special || is_end_spelling(s) || is_mark(s) || is_bracketed_name(s)) return true;
  if (s.size() < 4 || s.find_first_of(" \n") != s.npos) return false;
  return s.starts_with("<|") || s.ends_with("|>") ||
         (s.starts_with('<') && s.substr(1).starts_with(kBar));
}

}  // namespace mlxcel
