// mlxcel generate: prompts in, answers out. Several -p run as one batch; the first one streams.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/cat.h"
#include "base/json.h"
#include "chat/message_stream.h"
#include "cli/arguments.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/fetch_model.h"
#include "cli/memory_report.h"
#include "cli/prompt.h"
#include "cli/reasoning.h"
#include "cli/sampling_arguments.h"
#include "models/registry.h"

namespace mlxcel {
namespace {

struct GenerateArguments {
  ModelArguments model;
  SamplingArguments sampling;
  std::vector<std::string> prompts;
  std::string system;
  ReasoningArguments reasoning;
  bool plain = false, json = false, quiet = false, verbose = false, estimate = false,
       offline = false;
};

struct Answer {
  Answer(MessageStream s, bool show_reasoning) : stream(std::move(s)), view(show_reasoning) {}
  void add(const text::ParsedMessage& delta) {
    message.append(delta);
    shown += view.visible(delta);
  }

  MessageStream stream;
  ReasoningView view;
  text::ParsedMessage message;
  std::string shown;  // what a person sees
  FinishEvent end;
  bool done = false;
};

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Until the first token; 0 if there is none.
double first_token_seconds(const RequestStats& s) {
  return s.generated_tokens > 0 ? seconds(s.first_token - s.submitted) : 0;
}

// When the prompt was read.
Clock::time_point prompt_end(const RequestStats& s) {
  return s.generated_tokens > 0 ? s.first_token : s.finished;
}

double rate(int64_t tokens, Clock::duration d) {
  const double s = seconds(d);
  return s > 0 ? static_cast<double>(tokens) / s : 0;
}

// Prints answers in the order of their prompts: the first unfinished one as it grows.
class Printer {
 public:
  Printer(const std::vector<std::string>& prompts, bool live) : prompts_(prompts), live_(live) {}

  void show(const std::vector<std::unique_ptr<Answer>>& answers) {
    if (!live_) return;
    while (current_ < answers.size()) {
      const Answer& a = *answers[current_];
      if (shown_ == 0 && !headed_ && answers.size() > 1) {
        std::printf("%s>>> %s\n", current_ > 0 ? "\n" : "", prompts_[current_].c_str());
        headed_ = true;
      }
      std::fwrite(a.shown.data() + shown_, 1, a.shown.size() - shown_, stdout);
      std::fflush(stdout);
      shown_ = a.shown.size();
      if (!a.done) return;
      if (a.shown.empty() || a.shown.back() != '\n') std::fputc('\n', stdout);
      std::fflush(stdout);
      current_++, shown_ = 0, headed_ = false;
    }
  }

 private:
  const std::vector<std::string>& prompts_;
  bool live_;
  size_t current_ = 0, shown_ = 0;
  bool headed_ = false;
};

void print_figures(const Answer& a) {
  const RequestStats& s = a.end.stats;
  const auto prefill = prompt_end(s) - s.started, decode = s.finished - prompt_end(s);
  char text[240];
  std::snprintf(text, sizeof text,
                "[prompt %d tokens, %.1f tok/s | answer %d tokens, %.1f tok/s | first token %.3f s "
                "| %s | seed %llu]",
                s.prompt_tokens, rate(s.prompt_tokens - s.cached_tokens, prefill),
                s.generated_tokens, rate(std::max(s.generated_tokens - 1, 0), decode),
                first_token_seconds(s), name(a.end.reason),
                static_cast<unsigned long long>(s.seed));
  std::fprintf(stderr, "%s\n", painted(STDERR_FILENO, Colour::kDim, text).c_str());
}

json::object to_json(const std::string& prompt, const Answer& a) {
  const RequestStats& s = a.end.stats;
  json::object o = {
      {"prompt", prompt},
      {"text", a.message.content},
      {"finish_reason", name(a.end.reason)},
      {"prompt_tokens", s.prompt_tokens},
      {"cached_tokens", s.cached_tokens},
      {"generated_tokens", s.generated_tokens},
      {"seed", s.seed},
      {"prefill_tok_s", rate(s.prompt_tokens - s.cached_tokens, prompt_end(s) - s.started)},
      {"decode_tok_s", rate(std::max(s.generated_tokens - 1, 0), s.finished - prompt_end(s))},
      {"first_token_s", first_token_seconds(s)}};
  if (!a.message.reasoning.empty()) o["reasoning"] = a.message.reasoning;
  return o;
}

// A context and pages for just these prompts and answers.
Result<EngineOptions> engine_options(const std::vector<ChatPrompt>& prompts,
                                     const FamilyFacts& facts, int64_t max_tokens,
                                     int wanted_context) {
  constexpr int64_t kRoomToAnswer = 4096;  // tokens, where the request names no limit
  int64_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, static_cast<int64_t>(p.tokens.size()));
  EngineOptions o;
  const int64_t answer = max_tokens < 0 ? kRoomToAnswer : std::min(max_tokens, facts.context);
  const int64_t needed = longest + answer + 1;
  o.context =
      static_cast<int32_t>(wanted_context > 0 ? wanted_context : std::min(facts.context, needed));
  o.context = std::max(o.context, 2);
  o.max_sequences = static_cast<int32_t>(std::clamp<size_t>(prompts.size(), 1, 64));
  o.max_rows = 512, o.max_head_rows = o.max_sequences + 1;
  return o;
}

Status submit_all(const GenerateArguments& a, const ChatModel& chat, const SamplingParams& params,
                  std::vector<ChatPrompt> prompts, Engine& engine,
                  std::vector<std::unique_ptr<Answer>>& answers) {
  for (size_t i = 0; i < prompts.size(); i++) {
    MessageOptions options;
    options.parse = !a.plain, options.reasoning = a.reasoning.parser_format();
    options.starts_in_reasoning = prompts[i].in_reasoning;
    answers.push_back(std::make_unique<Answer>(
        MessageStream(chat, a.sampling.stops, std::move(options)), a.reasoning.show));
    Answer* answer = answers.back().get();
    Request r;
    r.tokens = std::move(prompts[i].tokens), r.sampling = params;
    r.on_token = [answer](const TokenEvent& e) {
      if (!e.end) answer->add(answer->stream.push(e.token));
      return !answer->stream.stopped();
    };
    r.on_finish = [answer](const FinishEvent& e) {
      answer->add(answer->stream.finish());
      answer->end = e, answer->done = true;
    };
    TRY_OK(engine.submit(std::move(r)));
  }
  return Ok{};
}

// The prompts, with standard input in the place of "-"; all texts checked.
Result<std::vector<std::string>> read_prompts(const GenerateArguments& a) {
  std::vector<std::string> prompts = a.prompts;
  if (std::count(prompts.begin(), prompts.end(), "-") > 1)
    return Error{Code::kInvalid, "--prompt: expected - (standard input) once, found it again"};
  for (size_t i = 0; i < prompts.size(); i++) {
    if (prompts[i] == "-") {
      TRY(prompts[i], read_prompt("-"));
    }
    TRY_OK(check_text(prompts.size() == 1 ? "--prompt" : cat("--prompt ", i + 1), prompts[i]));
  }
  return prompts;
}

Result<int> run(const GenerateArguments& a) {
  TRY(const std::vector<std::string> prompts, read_prompts(a));
  TRY(Checkpoint checkpoint, open_or_download(a.model.model, a.offline || a.estimate, a.quiet));
  TRY(TextModel text, load_text_model(checkpoint));
  TRY(const ChatModel chat, make_chat_model(std::move(text)));
  TRY(SamplingParams params, a.sampling.params(chat));
  TRY(const auto family, make_family(checkpoint.config()));
  std::vector<ChatPrompt> ids;
  for (const std::string& p : prompts) {
    ChatPrompt encoded;
    if (a.plain || !chat.chat) {
      TRY(encoded.tokens, chat.tokenizer->encode(p));
    } else {
      TRY(encoded, chat.prompt_turn(p, a.system));
    }
    if (encoded.tokens.empty())
      return Error{Code::kInvalid, "--prompt: expected at least one token, found none"};
    ids.push_back(std::move(encoded));
  }
  TRY(const EngineOptions options,
      engine_options(ids, family->facts(), params.max_tokens, a.model.context));
  if (a.estimate) return estimate_memory(checkpoint, a.model.open, options, a.json);
  const Clock::time_point begin = Clock::now();
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, options, std::ref(bar));
  }());
  if (a.verbose) print_loaded(model, seconds(Clock::now() - begin));
  TRY(auto engine, Engine::create(*model.family, *model.backend, model.plan.options));
  std::vector<std::unique_ptr<Answer>> answers;
  TRY_OK(submit_all(a, chat, params, std::move(ids), *engine, answers));
  Printer printer(prompts, !a.json);
  while (engine->step()) printer.show(answers);
  printer.show(answers);
  json::array all;
  for (size_t i = 0; i < answers.size(); i++) {
    const Answer& answer = *answers[i];
    if (answer.end.reason == FinishReason::kError) return Error{Code::kInvalid, answer.end.message};
    if (a.json) all.push_back(to_json(prompts[i], answer));
    if (!a.json) say_if_all_is_reasoning(answer.message, answer.end, a.reasoning.show);
    if (!a.json && !a.quiet) print_figures(answer);
  }
  if (a.json) {
    const json::object o = {{"model", a.model.model}, {"answers", std::move(all)}};
    std::printf("%s\n", json::serialize(o).c_str());
  }
  return 0;
}

}  // namespace

Run add_generate(CommandLine& sub) {
  auto a = std::make_shared<GenerateArguments>();
  add_model_arguments(sub, a->model);
  add_offline_argument(sub, a->offline);
  sub.add_option("-p,--prompt", a->prompts,
                 "A prompt; - reads standard input; several run as one batch")
      ->check(text_domain)
      ->required()
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("--system", a->system, "System message before the prompt")->check(text_domain);
  sub.add_option("-c,--ctx-size", a->model.context,
                 "Tokens of prompt and answer together (default: what they need)")
      ->range(2, 1 << 27);
  sub.add_flag("--no-chat-template", a->plain,
               "The prompt as it is, without the model's chat template");
  add_sampling_arguments(sub, a->sampling);
  add_reasoning_arguments(sub, a->reasoning);
  sub.add_flag("--estimate-memory", a->estimate,
               "Only say what memory this takes; exit status 1 if it does not fit");
  sub.add_flag("--json", a->json, "One JSON object on standard output, at the end");
  sub.add_flag("-v,--verbose", a->verbose, "Say what was loaded, and where");
  sub.add_flag("-q,--quiet", a->quiet, "No line of figures on standard error");
  sub.footer(
      "Examples:\n  mlxcel generate -m model.gguf -p \"Why is the sky blue?\"\n"
      "  cat notes.txt | mlxcel generate -m model.gguf -p - -n 200 --temp 0.7 --seed 1");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
