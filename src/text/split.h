// How the matches of a pattern cut a piece: one rule for patterns, literals and character classes.
#pragma once

#include <vector>

#include "text/pre_tokenizer.h"

namespace mlxcel {

struct Part {
  Span span;
  bool is_match;
};

// Turns parts, which cover one piece from left to right, into pieces.
void append_split(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<Span>& out);

}  // namespace mlxcel
