// Lines from a person: with editing and history on a terminal, plain ones from a pipe.
#pragma once

#include <optional>
#include <string>

namespace mlxcel {

// Ctrl-C while a LineReader lives: counted here instead of ending the program. Taking it resets it.
bool take_interrupt();

class LineReader {
 public:
  // `history_file`: kept between sessions; "" for none.
  explicit LineReader(std::string history_file);
  ~LineReader();
  LineReader(const LineReader&) = delete;

  enum class End { kLine, kEndOfInput, kInterrupted };
  // Without its newline.
  End read(const char* prompt, std::string& line);

 private:
  End read_edited(const char* prompt, std::string& line);
  std::string history_file_;
  bool edited_;  // standard input and output are a terminal
};

}  // namespace mlxcel
