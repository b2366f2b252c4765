// Marks as text or as tokens, with what may still become a mark held back.
#include "text/parse/mark_scanner.h"

#include <algorithm>

namespace mlxcel::text {

void MarkScanner::push(Piece piece) {
  if (piece.control && !piece.text.empty() && tokens_.contains(piece.text))
    controls_.push_back({text_.size(), piece.text.size()});
  text_ += piece.text;
}

void MarkScanner::drop(size_t n) {
  text_.erase(0, n);
  std::erase_if(controls_, [&](const Control& c) { return c.at + c.size <= n; });
  for (Control& c : controls_) c.at -= std::min(c.at, n);
}

MarkScanner::Found MarkScanner::next(Marks marks, bool at_end, bool word) {
  const std::string_view s = text_;
  for (size_t at = 0; at < s.size(); at++) {
    const auto control = std::find_if(controls_.begin(), controls_.end(),
                                      [&](const Control& c) { return c.at == at; });
    std::string_view best;
    bool waits = false;
    for (std::string_view mark : marks) {
      if (mark.empty()) continue;
      if (has_token(mark)) {
        if (control != controls_.end() && s.substr(at, control->size) == mark) best = mark;
        continue;
      }
      const std::string_view rest = s.substr(at);
      if (rest.starts_with(mark)) {
        if (mark.size() > best.size()) best = mark;
      } else if (!at_end && mark.starts_with(rest)) {
        waits = true;
      }
    }
    if (waits) {  // a mark may begin here: only what stands before it is sure
      Found found{std::string(s.substr(0, at)), {}, false};
      drop(at);
      return found;
    }
    const bool stops = word && std::string_view(" \t\n\r").find(s[at]) == s.npos;
    if (best.empty() && !stops) continue;
    if (best.empty()) {
      Found found{std::string(s.substr(0, at + 1)), {}, true};
      drop(at + 1);
      return found;
    }
    Found found{std::string(s.substr(0, at)), best, false};
    drop(at + best.size());
    return found;
  }
  Found found{text_, {}, false};
  drop(text_.size());
  return found;
}

}  // namespace mlxcel::text
