// What is wrong with a command line, said as all our errors are: option, value, what was expected.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace mlxcel {

// Numbers of every option are checked as text first: CLI11 takes -1 and 2^64 for 2^64 - 1.
void check_numbers(CLI::App& app);

// `e` in our words, with the word that was meant, where one is near.
std::string usage_error(const CLI::ParseError& e, const CLI::App& root, const CLI::App& used);

}  // namespace mlxcel
