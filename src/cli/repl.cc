#include "cli/repl.h"

#include <unistd.h>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/colour.h"
#include "cli/line_reader.h"
#include "cli/prompt.h"

namespace mlxcel {
namespace {

constexpr char kHelp[] =
    "  /bye                      leave (Ctrl-D too)\n"
    "  /clear                    forget the conversation\n"
    "  /set                      show the settings\n"
    "  /set verbose|quiet        tokens per second after each answer, or not\n"
    "  /set system TEXT          the system message; the conversation starts again\n"
    "  /set reasoning on|off     show the model's reasoning, or not\n"
    "  /set parameter NAME X     temperature, top_p, top_k, min_p, repetition_penalty, seed,\n"
    "                            max_tokens\n"
    "  /save FILE, /load FILE    the conversation as JSON\n"
    "  \"\"\"                       begins and ends a text of several lines\n"
    "  Ctrl-C                    stops the answer\n";

// The line without its first word and the blanks around that; `word` is the word.
std::string after_word(const std::string& line, std::string& word) {
  const size_t end = std::min(line.find(' '), line.size());
  word = line.substr(0, end);
  const size_t rest = line.find_first_not_of(' ', end);
  return rest == line.npos ? "" : line.substr(rest);
}

std::string history_file() {
  const char* cache = std::getenv("MLXCEL_CACHE_DIR");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return cat(cache, "/history");
  return home != nullptr ? cat(home, "/.cache/mlxcel/history") : "";
}

void print_figures(const RequestStats& s) {
  const auto rate = [](int tokens, Clock::duration d) {
    const double seconds = std::chrono::duration<double>(d).count();
    return seconds > 0 ? tokens / seconds : 0.0;
  };
  char text[160];
  std::snprintf(text, sizeof text,
                "[prompt %d tokens, %d of them kept, %.1f tok/s | answer %d tokens, %.1f tok/s]",
                s.prompt_tokens, s.cached_tokens,
                rate(s.prompt_tokens - s.cached_tokens, s.first_token - s.started),
                s.generated_tokens, rate(s.generated_tokens - 1, s.finished - s.first_token));
  std::fprintf(stderr, "%s\n", painted(STDERR_FILENO, Colour::kDim, text).c_str());
}

// A line, or all lines of a text in triple quotes.
LineReader::End read_message(LineReader& reader, std::string& text) {
  constexpr std::string_view kQuotes = "\"\"\"";
  const LineReader::End end = reader.read(">>> ", text);
  if (end != LineReader::End::kLine || !text.starts_with(kQuotes)) return end;
  text.erase(0, kQuotes.size());
  while (!text.ends_with(kQuotes)) {
    std::string line;
    const LineReader::End more = reader.read("... ", line);
    if (more == LineReader::End::kInterrupted) return more;
    if (more == LineReader::End::kEndOfInput) return text.empty() ? more : LineReader::End::kLine;
    text += cat("\n", line);
  }
  text.resize(text.size() - kQuotes.size());
  if (text.starts_with('\n')) text.erase(0, 1);
  if (text.ends_with('\n')) text.pop_back();
  return end;
}

}  // namespace

Result<ChatPrompt> Repl::prompt() const {
  if (!chat_.chat) {  // a base model continues the text
    std::string all = options_.system;
    for (const json::value& m : messages_) all += std::string_view(m.at("content").as_string());
    ChatPrompt plain;
    TRY(plain.tokens, chat_.tokenizer->encode(all));
    return plain;
  }
  json::array messages;
  if (!options_.system.empty())
    messages.push_back({{"role", "system"}, {"content", options_.system}});
  for (const json::value& m : messages_) messages.push_back(m);
  return chat_.prompt({{"messages", std::move(messages)}, {"add_generation_prompt", true}});
}

Status Repl::answer(ChatPrompt prompt, const std::function<bool()>& stop,
                    text::ParsedMessage& message) {
  MessageOptions parse;
  parse.reasoning = options_.reasoning.parser_format();
  parse.starts_in_reasoning = prompt.in_reasoning;
  MessageStream stream(chat_, options_.stops, std::move(parse));
  ReasoningView view(options_.reasoning.show);
  bool newline = true;
  const auto show = [&](const text::ParsedMessage& delta) {
    message.append(delta);
    const std::string text = view.visible(delta);
    if (text.empty()) return;
    newline = text.back() == '\n';
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  FinishEvent end;
  Request r;
  r.tokens = std::move(prompt.tokens), r.sampling = options_.sampling;
  r.on_token = [&](const TokenEvent& e) {
    if (!e.end) show(stream.push(e.token));
    return !stream.stopped();
  };
  r.on_finish = [&](const FinishEvent& e) { end = e; };
  TRY(const RequestId id, engine_.submit(std::move(r)));
  bool stopped = false;
  while (engine_.step()) {
    if (!stopped && stop()) engine_.cancel(id), stopped = true;
  }
  show(stream.finish());
  if (stopped) std::clearerr(stdout);  // Ctrl-C may have cut a write short
  if (!newline || stopped) std::fputc('\n', stdout);
  std::fflush(stdout);
  if (end.reason == FinishReason::kError) return Error{Code::kDevice, end.message};
  say_if_all_is_reasoning(message, end, options_.reasoning.show);
  if (options_.verbose) print_figures(end.stats);
  return Ok{};
}

Status Repl::ask(const std::string& question, const std::function<bool()>& stop) {
  TRY_OK(check_text("the question", question));
  messages_.push_back({{"role", "user"}, {"content", question}});
  text::ParsedMessage message;
  Status done = [&]() -> Status {
    TRY(ChatPrompt p, prompt());
    if (p.tokens.empty()) return Error{Code::kInvalid, "expected at least one token, found none"};
    return answer(std::move(p), stop, message);
  }();
  if (!done) {  // as if it had not been asked
    messages_.pop_back();
    return done;
  }
  json::object reply = {{"role", "assistant"}, {"content", message.content}};
  if (!message.reasoning.empty()) reply["reasoning_content"] = message.reasoning;
  messages_.push_back(std::move(reply));
  return Ok{};
}

Status Repl::set_parameter(const std::string& name, const std::string& value) {
  SamplingParams p = options_.sampling;
  const auto read = [&](auto& number, const char* what) -> Status {
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && rest == end) return Ok{};
    return Error{Code::kInvalid,
                 cat("/set parameter ", name, ": expected ", what, ", found \"", value, "\"")};
  };
  if (name == "temperature") {
    TRY_OK(read(p.temperature, "a number"));
  } else if (name == "top_p") {
    TRY_OK(read(p.top_p, "a number"));
  } else if (name == "min_p") {
    TRY_OK(read(p.min_p, "a number"));
  } else if (name == "repetition_penalty") {
    TRY_OK(read(p.repetition_penalty, "a number"));
  } else if (name == "top_k") {
    TRY_OK(read(p.top_k, "a whole number"));
  } else if (name == "max_tokens") {
    TRY_OK(read(p.max_tokens, "a whole number"));
  } else if (name == "seed") {
    TRY_OK(read(p.seed.emplace(), "a whole number from 0 to 18446744073709551615"));
  } else {
    return Error{Code::kInvalid, cat("/set parameter: expected temperature, top_p, top_k, min_p, "
                                     "repetition_penalty, seed or max_tokens, found \"",
                                     name, "\"")};
  }
  TRY_OK(check(p, static_cast<int64_t>(chat_.tokenizer->vocab_size())));
  options_.sampling = std::move(p);
  return Ok{};
}

void Repl::print_settings() const {
  const SamplingParams& p = options_.sampling;
  std::printf(
      "%s; reasoning %s\nsystem: %s\ntemperature %s, top_p %s, top_k %s, min_p %s, "
      "repetition_penalty %s, max_tokens %s, seed %s\n",
      options_.verbose ? "verbose" : "quiet", options_.reasoning.show ? "on" : "off",
      options_.system.empty() ? "(none)" : options_.system.c_str(), cat(p.temperature).c_str(),
      cat(p.top_p).c_str(), cat(p.top_k).c_str(), cat(p.min_p).c_str(),
      cat(p.repetition_penalty).c_str(), cat(p.max_tokens).c_str(),
      p.seed ? cat(*p.seed).c_str() : "random");
}

void Repl::set(const std::string& what, const std::string& value) {
  if (what.empty()) {
    print_settings();
  } else if (what == "verbose" || what == "quiet") {
    options_.verbose = what == "verbose";
  } else if (what == "reasoning" && (value == "on" || value == "off")) {
    options_.reasoning.show = value == "on";
  } else if (what == "system") {
    options_.system = value;
    messages_.clear();
  } else if (what == "parameter") {
    std::string name;
    const std::string number = after_word(value, name);
    if (const Status s = set_parameter(name, number); !s)
      std::fprintf(stderr, "%s\n", s.error().message.c_str());
  } else {
    std::fprintf(stderr, "/set: unknown: %s %s; /? lists what there is\n", what.c_str(),
                 value.c_str());
  }
}

Status Repl::save(const std::string& path) const {
  if (path.empty()) return Error{Code::kInvalid, "/save: expected the name of a file"};
  const json::object o = {
      {"model", options_.model}, {"system", options_.system}, {"messages", messages_}};
  const std::string text = json::serialize(o) + "\n";
  return write_file(path, text.data(), static_cast<int64_t>(text.size()));
}

Status Repl::load(const std::string& path) {
  if (path.empty()) return Error{Code::kInvalid, "/load: expected the name of a file"};
  TRY(const std::string text, read_text(path));
  boost::system::error_code error;
  const json::value read = json::parse(text, error);
  const json::object* o = error ? nullptr : read.if_object();
  const json::value* messages = o == nullptr ? nullptr : o->if_contains("messages");
  const Error wrong = {Code::kInvalid, cat(path, ": expected a conversation that /save wrote")};
  if (messages == nullptr || !messages->is_array()) return wrong;
  for (const json::value& m : messages->get_array()) {
    const json::object* message = m.if_object();
    for (const char* key : {"role", "content"}) {
      const json::value* v = message == nullptr ? nullptr : message->if_contains(key);
      if (v == nullptr || !v->is_string()) return wrong;
    }
  }
  const json::value* system = o->if_contains("system");
  options_.system =
      system != nullptr && system->is_string() ? std::string(system->get_string()) : "";
  messages_ = messages->get_array();
  return Ok{};
}

bool Repl::command(const std::string& line) {
  std::string word, what;
  const std::string rest = after_word(line, word);
  const auto report = [](const Status& s, const std::string& done) {
    std::fprintf(stderr, "%s\n", s ? done.c_str() : s.error().message.c_str());
  };
  if (word == "/bye" || word == "/exit" || word == "/quit") return false;
  if (word == "/clear") {
    messages_.clear();
    std::fputs("The conversation is empty now.\n", stderr);
  } else if (word == "/?" || word == "/help") {
    std::fputs(kHelp, stdout);
  } else if (word == "/set") {
    const std::string value = after_word(rest, what);
    set(what, value);
  } else if (word == "/save") {
    report(save(rest), cat("Saved ", messages_.size(), " messages to ", rest));
  } else if (word == "/load") {
    const Status s = load(rest);
    report(s, cat("Loaded ", messages_.size(), " messages from ", rest));
  } else {
    std::fprintf(stderr, "%s: no such command; /? lists them\n", word.c_str());
  }
  return true;
}

Result<int> Repl::loop() {
  LineReader reader(history_file());
  const bool person = is_terminal(STDIN_FILENO);
  if (person && !options_.quiet)
    std::fprintf(stderr, "%s. /? for help, /bye to leave.\n", options_.model.c_str());
  int status = 0;
  for (;;) {
    std::string text;
    const LineReader::End end = read_message(reader, text);
    if (end == LineReader::End::kInterrupted) {
      if (!person) return 130;
      std::fputs("/bye or Ctrl-D leaves.\n", stderr);
      continue;
    }
    if (end == LineReader::End::kEndOfInput) {
      if (person) std::fputc('\n', stdout);
      return status;
    }
    if (text.find_first_not_of(" \t\r\n") == text.npos) continue;
    if (text[0] == '/') {
      if (!command(text)) return status;
      std::fflush(stdout);
      continue;
    }
    const Status s = ask(text, take_interrupt);
    if (s) continue;
    std::fprintf(stderr, "%s%s\n", s.error().message.c_str(),
                 messages_.empty() ? "" : "; /clear starts again");
    if (!person) status = 1;
  }
}

}  // namespace mlxcel
