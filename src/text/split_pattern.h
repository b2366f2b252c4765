// The part of Oniguruma's pattern language that SplitAutomaton knows, as a program of sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel {

struct SplitStep {
  enum class Kind : uint8_t {
    kSet,       // one character of set `a`
    kFork,      // goes on at `a`, or if that fails at `b`
    kAhead,     // only if the next character is of set `a`; the end of the text is not
    kNotAhead,  // only if it is not
    kMatch,
  };
  Kind kind;
  uint32_t a = 0, b = 0;
};

struct SplitProgram {
  std::vector<SplitStep> steps;   // from the first on; one after the other but for forks
  std::vector<std::string> sets;  // each a pattern of one character
};

// Nothing if `pattern` has what the program cannot say.
std::optional<SplitProgram> split_program(std::string_view pattern);

}  // namespace mlxcel
