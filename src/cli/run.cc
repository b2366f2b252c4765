// mlxcel run: chat in the terminal, or one answer with -p.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/domains.h"
#include "cli/fetch_model.h"
#include "cli/memory_report.h"
#include "cli/prompt.h"
#include "cli/repl.h"
#include "cli/sampling_arguments.h"
#include "hub/locate.h"
#include "models/registry.h"

namespace mlxcel {
namespace {

constexpr int32_t kUsualContext = 8192;  // tokens, where -c is not given and the model allows it

struct RunArguments {
  ModelArguments model;
  SamplingArguments sampling;
  ReasoningArguments reasoning;
  Option* one_shot = nullptr;  // -p
  std::string positional, prompt, system;
  bool verbose = false, quiet = false, estimate = false, offline = false;
};

Result<int> run(const RunArguments& a) {
  TRY(const std::string prompt, read_prompt(a.prompt));
  TRY_OK(check_text("--prompt", prompt));
  const std::string name = a.positional.empty() ? a.model.model : a.positional;
  TRY(Checkpoint checkpoint, open_or_download(name, a.offline || a.estimate, a.quiet));
  TRY(TextModel text, load_text_model(checkpoint));
  TRY(const ChatModel chat, make_chat_model(std::move(text)));
  ReplOptions repl_options;
  TRY(repl_options.sampling, a.sampling.params(chat));
  repl_options.model = name.empty() ? kDefaultModel : name;
  repl_options.system = a.system, repl_options.stops = a.sampling.stops;
  repl_options.reasoning = a.reasoning;
  repl_options.verbose = a.verbose, repl_options.quiet = a.quiet;
  TRY(const auto family, make_family(checkpoint.config()));
  EngineOptions options;
  options.context =
      a.model.context > 0
          ? a.model.context
          : static_cast<int32_t>(std::min<int64_t>(family->facts().context, kUsualContext));
  options.max_sequences = 1, options.max_head_rows = 2;
  if (a.estimate) return estimate_memory(checkpoint, a.model.open, options, false);
  const Clock::time_point begin = Clock::now();
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, options, std::ref(bar));
  }());
  if (a.verbose) print_loaded(model, std::chrono::duration<double>(Clock::now() - begin).count());
  TRY(auto engine, Engine::create(*model.family, *model.backend, model.plan.options));
  Repl repl(chat, *engine, std::move(repl_options));
  if (!a.one_shot->given()) return repl.loop();
  TRY_OK(repl.ask(prompt, interrupted));
  return 0;
}

}  // namespace

Run add_run(CommandLine& sub) {
  auto a = std::make_shared<RunArguments>();
  auto* positional = sub.add_option("model", a->positional, "The same as -m")->check(no_empty_text);
  add_model_arguments(sub, a->model);
  positional->excludes(sub.get_option("--model"));
  add_offline_argument(sub, a->offline);
  a->one_shot =
      sub.add_option("-p,--prompt", a->prompt, "Answer this and leave; - reads standard input")
          ->check(text_domain);
  sub.add_option("--system", a->system, "System message before the conversation")
      ->check(text_domain);
  sub.add_option("-c,--ctx-size", a->model.context,
                 "Tokens of the conversation (default: the model's, at most 8192)")
      ->range(2, 1 << 27);
  add_sampling_arguments(sub, a->sampling);
  add_reasoning_arguments(sub, a->reasoning);
  sub.add_flag("-v,--verbose", a->verbose,
               "What was loaded, and tokens per second after each answer");
  sub.add_flag("-q,--quiet", a->quiet, "No greeting");
  sub.add_flag("--estimate-memory", a->estimate,
               "Only say what memory this takes; exit status 1 if it does not fit");
  sub.footer(
      "Without -p: a conversation; /? lists its commands. Each line of a pipe is a question.\n"
      "Examples:\n  mlxcel run\n  mlxcel run owner/name --temp 0.7 --system \"Be brief.\"\n"
      "  mlxcel run -m model.gguf -p \"Why is the sky blue?\"");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
