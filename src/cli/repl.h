// The chat in the terminal: a conversation, its commands, and one answer at a time.
#pragma once

#include <string>

#include "chat/message_stream.h"
#include "cli/reasoning.h"
#include "engine/engine.h"

namespace mlxcel {

struct ReplOptions {
  std::string model;  // as the user called it
  std::string system;
  std::vector<std::string> stops;
  ReasoningArguments reasoning;
  SamplingParams sampling;
  bool verbose = false;  // figures after each answer
  bool quiet = false;    // no greeting
};

class Repl {
 public:
  // All must outlive this.
  Repl(const ChatModel& chat, Engine& engine, ReplOptions options)
      : chat_(chat), engine_(engine), options_(std::move(options)) {}

  // Until /bye or the end of the input.
  Result<int> loop();
  // One question; streams the answer to stdout. The Error says why there is none.
  Status ask(const std::string& question, const std::function<bool()>& stop);

 private:
  bool command(const std::string& line);  // false: /bye
  void set(const std::string& what, const std::string& value);
  Status set_parameter(const std::string& name, const std::string& value);
  Status save(const std::string& path) const;
  Status load(const std::string& path);
  Result<ChatPrompt> prompt() const;
  Status answer(ChatPrompt prompt, const std::function<bool()>& stop, text::ParsedMessage& message);
  void print_settings() const;

  const ChatModel& chat_;
  Engine& engine_;
  ReplOptions options_;
  json::array messages_;  // without the system message
};

}  // namespace mlxcel
