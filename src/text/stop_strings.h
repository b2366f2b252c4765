// Stop strings: ends a text before the first of some strings, wherever the text was cut in parts.
//
// An Aho-Corasick automaton over bytes: its state is the longest end of the text so far that begins
// a stop string, and just that much is held back. The match that ends first wins, whatever the
// steps; of those that end together the longest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(const std::vector<std::string>& stops);

  // The text that may be shown now. After a match: what stands before it, then nothing more.
  std::string push(std::string_view text);
  // The end of the text: what was held back, since no stop string came of it.
  std::string flush();

  bool stopped() const { return match_ >= 0; }
  int match() const { return match_; }  // index of the string that was found, or -1

 private:
  struct State {
    std::vector<std::pair<uint8_t, uint32_t>> next;  // longer by one byte
    uint32_t shorter = 0;                            // the longest proper end that is a state too
    uint32_t depth = 0;                              // bytes
    int match = -1;                                  // the longest stop string that ends here
  };
  uint32_t step(uint32_t state, uint8_t byte) const;
  uint32_t child(uint32_t state, uint8_t byte) const;  // 0: none
  void add(const std::string& stop, int index);
  void link();

  std::vector<State> states_;
  uint32_t state_ = 0;
  std::string held_;
  int match_ = -1;
};

}  // namespace mlxcel
