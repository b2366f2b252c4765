#include "cli/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
  return words;
}

// The command of `command` that has this name; null if none has.
const CommandFacts* find_command(const CommandFacts& command, const std::string& name) {
  for (const CommandFacts& c : command.commands) {
    if (c.name == name || std::find(c.aliases.begin(), c.aliases.end(), name) != c.aliases.end())
      return &c;
  }
  return nullptr;
}

// The commands that a command line names: the program's facts, then each command's within it.
using Path = std::vector<const CommandFacts*>;

// The first word that stands where a command is expected and is none; null if there is none. CLI11
// would show the help of what it knows. `path` becomes what the word follows.
const char* stray_word(int argc, char** argv, Path& path) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "help";
  for (int i = help ? 2 : 1; i < argc && argv[i][0] != '-'; i++) {
    const CommandFacts* named = find_command(*path.back(), argv[i]);
    if (named == nullptr)
      return help || path.back()->needs_command || path.size() == 1 ? argv[i] : nullptr;
    path.push_back(named);
  }
  return nullptr;
}

int run_parsed(const char* program, const CommandLine& line,
               const std::vector<std::pair<CommandLine*, Run>>& subs) {
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
  std::fputs(line.help().c_str(), stdout);
  return end_output(program, 0);
}

}  // namespace

bool interrupted() { return interrupts > 0; }

InterruptWaits::InterruptWaits() { waiting = waiting + 1; }
InterruptWaits::~InterruptWaits() { waiting = waiting - 1; }

Run add_nested(CommandLine& sub, std::span<const Command> commands) {
  sub.require_command();
  std::vector<std::pair<CommandLine*, Run>> runs;
  for (const Command& c : commands) {
    CommandLine* nested = sub.add_command(c.name, c.summary);
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
  CommandLine line(program, summary, version_text());
  line.footer(cat("Try '", program, " help COMMAND'."));
  std::vector<std::pair<CommandLine*, Run>> subs;
  for (const Command& c : commands) {
    CommandLine* sub = line.add_command(c.name, c.summary);
    subs.emplace_back(sub, c.add(*sub));
  }
  const CommandFacts facts = line.facts();
  const auto refuse = [&](const Path& path, const std::string& why) {
    std::string asked = program;
    for (size_t i = 1; i < path.size(); i++) asked += " " + path[i]->name;
    std::fprintf(stderr, "%s %s\nTry '%s --help'.\n", speaker(program).c_str(), why.c_str(),
                 asked.c_str());
    return kUsage;
  };
  Path path = {&facts};
  if (const char* word = stray_word(argc, argv, path))
    return refuse(path, unknown_word(word, facts, *path.back()));
  const Reading reading = line.read(words_of(argc, argv));
  if (reading.end == Reading::End::kAnswered) return end_output(program, 0);
  if (reading.end == Reading::End::kRefused) {
    path = {&facts};
    for (const std::string& name : reading.commands)
      path.push_back(find_command(*path.back(), name));
    return refuse(path, usage_error(reading, facts, *path.back()));
  }
  return run_parsed(program, line, subs);
}

}  // namespace mlxcel
