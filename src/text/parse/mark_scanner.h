// Finds marks in a stream that comes in pieces.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/parse/message.h"

namespace mlxcel::text {

class MarkScanner {
 public:
  using Marks = std::span<const std::string_view>;
  using Tokens = std::set<std::string, std::less<>>;
  explicit MarkScanner(Tokens tokens) : tokens_(std::move(tokens)) {}

  struct Found {
    std::string text;       // before the mark
    std::string_view mark;  // empty: none yet, and `text` is all that is sure
    bool more = false;      // `word` stopped early: call again
  };

  void push(Piece piece);
  // The next text and mark; the longest mark where several start. `marks` may change between
  // calls. With an empty text and mark, more pieces are needed.
  // With `word` it stops behind the first character that is no blank and begins no mark.
  Found next(Marks marks, bool at_end, bool word = false);
  bool has_token(std::string_view mark) const { return tokens_.contains(mark); }

 private:
  std::string text_;  // of ordinary tokens, and of control tokens that are no mark
  // Control tokens in text_: where they begin and how long they are.
  struct Control {
    size_t at, size;
  };
  std::vector<Control> controls_;
  void drop(size_t n);
  Tokens tokens_;
};

}  // namespace mlxcel::text
