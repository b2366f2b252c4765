// A program's command line: its commands, their options, and the reading of both. What does the
// work is CLI11, whose headers cost seconds in each file that sees them: only command_line.cc does.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mlxcel {

// What is wrong with a value; "" if nothing is.
using Domain = std::function<std::string(const std::string& value)>;

// One option, flag or positional, while its command is set up. Every setter returns `this`.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  Option* check(Domain domain);
  Option* range(int low, int high);  // both ends belong to it
  Option* range(double low, double high);
  Option* one_of(std::vector<std::string> words);
  Option* existing_directory();
  Option* capture_default_str();  // the help shows the value that the variable has now
  Option* type_name(const std::string& name);
  Option* delimiter(char between);  // one argument may hold several values
  Option* take_all();
  Option* allow_extra_args(bool allow);  // false: one value each time it is given
  Option* needs(Option* other);
  Option* excludes(Option* other);

  bool given() const;  // once the command line is read

 private:
  CLI::Option* option_;
};

// What a help text, a completion or a manual says about an option and a command.
struct OptionFacts {
  std::string positional;          // its name, if it is one
  std::vector<std::string> names;  // "-m", "--model"
  std::string what;
  bool takes_value = false;
  std::vector<std::string> choices;  // of its value; empty: any
};
struct CommandFacts {
  std::string name, summary, footer;
  std::vector<std::string> aliases;
  bool needs_command = false;  // one of its own must follow
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

// How the reading of a command line ended.
struct Reading {
  enum class End { kRun, kAnswered, kRefused };
  End end = End::kRun;                // kAnswered: --help or --version, which was printed
  std::vector<std::string> commands;  // those that were named: "bench", "decode"
  std::optional<std::string> unknown_word;
  std::string complaint;  // why it was refused, as CLI11 says it
};

// The program itself, or one of its commands.
class CommandLine {
 public:
  CommandLine(const char* program, const char* summary, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;

  // Names: "-m,--model", or "file" for a positional. Reading sets `value`, which must outlive it.
  // T: std::string, a number, or a vector or an optional of one (the end of command_line.cc has the
  // list).
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& what);
  Option* add_option_function(const std::string& names,
                              const std::function<void(const std::string&)>& set,
                              const std::string& what);
  Option* add_flag(const std::string& names, bool& value, const std::string& what);
  Option* get_option(const std::string& name);  // one that was added; "--model"

  void footer(const std::string& text);
  void alias(const std::string& name);
  CommandLine* add_command(const char* name, const char* summary);
  void require_command();  // one of its own must follow

  CommandLine* parent() const { return parent_; }
  CommandFacts facts() const;
  std::string help() const;

  // Reads the words behind the program's name; of the program alone, and once.
  Reading read(const std::vector<std::string>& words);
  bool parsed() const;  // whether this command was named

  // For a domain whose value asks for a text (--isa help), once it is printed: as after --help,
  // nothing runs, and the exit status is 0.
  [[noreturn]] static void answered();

 private:
  CommandLine(CLI::App* app, CommandLine* parent);
  Option* add(CLI::Option* option);

  std::unique_ptr<CLI::App> program_;  // null in a command
  CLI::App* app_;
  CommandLine* parent_ = nullptr;
  std::deque<Option> options_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
};

}  // namespace mlxcel
