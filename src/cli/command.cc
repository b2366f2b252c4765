#include "cli/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "cli/colour.h"
#include "cli/usage_error.h"
#include "cli/version.h"

namespace mlxcel {
namespace {

constexpr int kUsage = 2, kInterrupted = 130;

volatile std::sig_atomic_t interrupts = 0, waiting = 0;

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void on_interrupt(int) {
  interrupts = interrupts + 1;
  // The second one does not wait.
  if (interrupts == 1 && waiting > 0) return;
  if (isatty(STDERR_FILENO) == 1) say("\r\033[K\n");
  _exit(kInterrupted);
}

void on_closed_pipe(int) {
  say("mlxcel: standard output: cannot be written: nobody reads it any more\n");
  _exit(1);
}

// Wherever memory ends, on any thread: a message and status 1 instead of an abort.
void on_no_memory() {
  say("mlxcel: memory: expected more, found none; use a smaller context, fewer prompts or a "
      "smaller model\n");
  _exit(1);
}

// A closed standard stream must not become the number of a file that is opened later. Reading from
// what stands in for an output fails, and so does writing to it.
void occupy_standard_streams() {
  for (const int fd : {0, 1, 2}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    [[maybe_unused]] const int opened = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

// What stands before an error.
std::string speaker(const char* program) {
  return painted(STDERR_FILENO, Colour::kError, cat(program, ":"));
}

// Whether everything said on standard output arrived.
int end_output(const char* program, int status) {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.flush();
  if (!failed) return status;
  const char* reason = errno != 0 ? std::strerror(errno) : "an earlier write failed";
  std::fprintf(stderr, "%s standard output: cannot be written: %s\n", speaker(program).c_str(),
               reason);
  return 1;
}

void set_signals() {
  // A shell starts background jobs with SIGINT ignored: that stays.
  if (std::signal(SIGINT, on_interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, on_closed_pipe);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write
}

// "help CMD" is "CMD --help"; "--option=" has an empty value, which CLI11 would not see.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool options = true;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    options = options && word != "--";
    if (options && word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1)
      words.insert(words.end(), {word.substr(0, word.size() - 1), ""});
    else
      words.push_back(word);
  }
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return {words.rbegin(), words.rend()};  // as CLI11 wants them
}

// The first word that stands where a command is expected and is none; null if there is none. CLI11
// would show the help of what it knows. `where` becomes the command that the word follows.
const char* stray_word(int argc, char** argv, const CLI::App*& where) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "help";
  for (int i = help ? 2 : 1; i < argc && argv[i][0] != '-'; i++) {
    const auto named =
        where->get_subcommands([&](const CLI::App* sub) { return sub->check_name(argv[i]); });
    if (named.empty())
      return help || where->get_require_subcommand_min() > 0 || where->get_parent() == nullptr
                 ? argv[i]
                 : nullptr;
    where = named.front();
  }
  return nullptr;
}

// What an option takes, as people write it: "N", "1..1024", "name|size", "TEXT".
std::string value_text(const std::string& type) {
  constexpr std::string_view kRange = " in [";
  const size_t range = type.find(kRange), set = type.find('{');
  if (range != type.npos && type.ends_with(']')) {
    std::string text = type.substr(range + kRange.size());
    text.pop_back();
    const size_t dash = text.find(" - ");
    return dash == text.npos ? text : text.replace(dash, 3, "..");
  }
  if (set != type.npos && type.ends_with('}')) {
    std::string text = type.substr(set + 1, type.size() - set - 2);
    for (char& c : text) c = c == ',' ? '|' : c;
    return text;
  }
  return type == "INT" || type == "UINT" || type == "FLOAT" ? "N" : type;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }

  std::string make_option_opts(const CLI::Option* o) const override {
    std::string text = CLI::Formatter::make_option_opts(o);
    const std::string type = o->get_type_name();
    if (const size_t at = text.find(type); !type.empty() && at != text.npos)
      text.replace(at, type.size(), value_text(type));
    const size_t excludes = text.find(" Excludes:");  // the description says it
    return text.substr(0, excludes);
  }
};

int run_parsed(const char* program, const CLI::App& app,
               const std::vector<std::pair<CLI::App*, Run>>& subs) {
  for (const auto& [sub, run] : subs) {
    if (!sub->parsed()) continue;
    const Result<int> status = run();
    if (!status) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s %s\n", speaker(program).c_str(), status.error().message.c_str());
      return interrupted() ? kInterrupted : 1;
    }
    return end_output(program, interrupted() ? kInterrupted : *status);
  }
  std::fputs(app.help().c_str(), stdout);
  return end_output(program, 0);
}

}  // namespace

bool interrupted() { return interrupts > 0; }

InterruptWaits::InterruptWaits() { waiting = waiting + 1; }
InterruptWaits::~InterruptWaits() { waiting = waiting - 1; }

Run add_nested(CLI::App& sub, std::span<const Command> commands) {
  sub.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Command& c : commands) {
    CLI::App* nested = sub.add_subcommand(c.name, c.summary);
    runs.emplace_back(nested, c.add(*nested));
  }
  return [runs]() -> Result<int> {
    for (const auto& [nested, run] : runs) {
      if (nested->parsed()) return run();
    }
    return 0;
  };
}

int run_program(const char* program, const char* summary, std::span<const Command> commands,
                int argc, char** argv) {
  occupy_standard_streams();
  set_signals();
  std::set_new_handler(on_no_memory);
  CLI::App app(summary, program);
  app.set_version_flag("--version", version_text());
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(cat("Try '", program, " help COMMAND'."));
  std::vector<std::pair<CLI::App*, Run>> subs;
  for (const Command& c : commands) {
    CLI::App* sub = app.add_subcommand(c.name, c.summary);
    sub->allow_extras(false);
    subs.emplace_back(sub, c.add(*sub));
  }
  check_values(app);
  const auto refuse = [&](const CLI::App& used, const std::string& why) {
    std::string asked = program;
    for (const CLI::App* a = &used; a != &app; a = a->get_parent())
      asked.insert(std::strlen(program), " " + a->get_name());
    std::fprintf(stderr, "%s %s\nTry '%s --help'.\n", speaker(program).c_str(), why.c_str(),
                 asked.c_str());
    return kUsage;
  };
  const CLI::App* where = &app;
  if (const char* word = stray_word(argc, argv, where))
    return refuse(*where, unknown_word(word, app, *where));
  try {  // CLI11 reports a wrong command line by throwing; it goes no further than here
    app.parse(words_of(argc, argv));
  } catch (const CLI::Success& e) {
    return end_output(program, app.exit(e));  // --help, --version
  } catch (const CLI::ParseError& e) {
    const CLI::App* used = &app;
    while (!used->get_subcommands().empty()) used = used->get_subcommands().front();
    return refuse(*used, usage_error(e, app, *used));
  }
  return run_parsed(program, app, subs);
}

}  // namespace mlxcel
