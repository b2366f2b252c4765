// What is wrong with a command line, said as all our errors are: option, value, what was expected.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace mlxcel {

// What holds for the options of all commands. Numbers are checked as text: CLI11 takes -1 and 2^64
// for 2^64 - 1.
void check_values(CLI::App& app);

// `e` in our words, with the word that was meant, where one is near.
std::string usage_error(const CLI::ParseError& e, const CLI::App& root, const CLI::App& used);
// The same about a word that `used` does not know.
std::string unknown_word(const std::string& word, const CLI::App& root, const CLI::App& used);

}  // namespace mlxcel
