// What a person sees of a model's reasoning.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "engine/request.h"
#include "text/parse/stream_parser.h"

namespace mlxcel {

struct ReasoningArguments {
  std::string format = "auto";
  bool show = false;

  text::ReasoningFormat parser_format() const {
    return format == "none" ? text::ReasoningFormat::kNone : text::ReasoningFormat::kDeepseek;
  }
};

// --reasoning-format, --show-reasoning
void add_reasoning_arguments(CommandLine& sub, ReasoningArguments& a);

// One answer as it is shown: the content, and before it the reasoning where it is wanted.
class ReasoningView {
 public:
  explicit ReasoningView(bool show) : show_(show) {}

  std::string visible(const text::ParsedMessage& delta);
  void show(bool on) { show_ = on; }

 private:
  bool show_;
  bool reasoned_ = false;  // the last text shown was reasoning
};

// On stderr, since an empty answer needs a reason.
void say_if_all_is_reasoning(const text::ParsedMessage& message, const FinishEvent& end,
                             bool shown);

}  // namespace mlxcel
