// What is wrong with a command line, said as all our errors are: option, value, what was expected.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace mlxcel {

// Why a command line was refused, in our words, with the word that was meant, where one is near.
// `used` is the command that was named, `root` itself if none was.
std::string usage_error(const Reading& refused, const CommandFacts& root, const CommandFacts& used);
// The same about a word that `used` does not know.
std::string unknown_word(const std::string& word, const CommandFacts& root,
                         const CommandFacts& used);

}  // namespace mlxcel
