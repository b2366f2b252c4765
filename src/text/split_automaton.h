// SplitAutomaton: the patterns that cut text, as a table from (state, class of the next character)
// to the next state. One look-up a character, whatever the pattern; no steps back.
//
// It knows sets, groups, "|", "?", "*", "+", counts, and a look at one character ahead: what the
// patterns of real tokenizers are made of. What a set contains is asked of Oniguruma once, when the
// table is made, so both agree on every character. Other patterns have no automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace mlxcel {

class SplitAutomaton {
 public:
  // Null if the pattern needs more than an automaton. REQUIRES: Oniguruma accepts it.
  static std::unique_ptr<SplitAutomaton> compile(std::string_view pattern);

  static constexpr size_t kNone = SIZE_MAX;      // no match begins here
  static constexpr size_t kUnknown = kNone - 1;  // a character that the table leaves out was read
  struct Found {
    size_t end;   // of the match, or kNone or kUnknown
    size_t read;  // how far the text was looked at
  };
  // The match that begins at `at`, the one that a backtracking search takes. REQUIRES: UTF-8.
  Found match(std::string_view text, size_t at) const;

 private:
  friend class AutomatonBuilder;
  // Characters beyond are rare and left to Oniguruma: their classes would take megabytes.
  static constexpr char32_t kChars = 0x20000;

  std::vector<uint8_t> class_of_;  // by character
  std::vector<uint16_t> next_;     // [states, classes + 1]: state * 2 + 1 if a match ends before it
  static constexpr size_t kDead = 0, kStart = 1;  // states; kDead: nothing can come next
  size_t classes_ = 0;  // the column behind the last class is the end of the text
};

}  // namespace mlxcel
