#include "cli/reasoning.h"

#include <unistd.h>

#include <cstdio>

#include "cli/colour.h"

namespace mlxcel {

void add_reasoning_arguments(CommandLine& sub, ReasoningArguments& a) {
  sub.add_option("--reasoning-format", a.format,
                 "none: reasoning stays in the answer, with its marks; deepseek: apart from it; "
                 "auto: as the model's template has it")
      ->one_of({"none", "deepseek", "auto"})
      ->capture_default_str();
  sub.add_flag("--show-reasoning", a.show, "Show the reasoning before the answer");
}

std::string ReasoningView::visible(const text::ParsedMessage& delta) {
  std::string text;
  if (show_ && !delta.reasoning.empty()) {
    text += painted(STDOUT_FILENO, Colour::kDim, delta.reasoning);
    reasoned_ = true;
  }
  if (!delta.content.empty()) {
    if (reasoned_) text += "\n\n";
    text += delta.content;
    reasoned_ = false;
  }
  return text;
}

void say_if_all_is_reasoning(const text::ParsedMessage& message, const FinishEvent& end,
                             bool shown) {
  if (shown || message.reasoning.empty() || !message.content.empty()) return;
  std::fprintf(
      stderr,
      "[All %d generated tokens went to the reasoning channel; --show-reasoning shows "
      "them%s]\n",
      end.stats.generated_tokens,
      end.reason == FinishReason::kLength ? ", a larger -n leaves room for the answer" : "");
}

}  // namespace mlxcel
