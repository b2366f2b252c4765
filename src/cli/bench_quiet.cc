// mlxcel bench quiet -- COMMAND: runs a command on a quiet machine, and tells how quiet it stayed.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "evidence/contention.h"
#include "evidence/quiet.h"

namespace mlxcel {
namespace {

constexpr int kNotQuiet = 2;

struct QuietArguments {
  double wait_s = 600;
  std::vector<std::string> pause, command;
  bool indexers = false;
};

void tell_users(const MachineUse& use) {
  std::fprintf(stderr, "others use %.2f processors\n", use.others);
  for (size_t i = 0; i < use.users.size() && i < 5; i++) {
    std::fprintf(stderr, "  %6.2f  %s (%lld)\n", use.users[i].processors,
                 use.users[i].process.name.c_str(),
                 static_cast<long long>(use.users[i].process.id));
  }
}

// The exit status, 128 + signal.
Result<int> run_command(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return Error{Code::kIo, cat("fork: ", std::strerror(errno))};
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // it does not outlive the quiet
    if (getppid() == parent) execvp(argv[0], argv.data());
    std::fprintf(stderr, "%s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<int> run(const QuietArguments& a) {
  std::vector<std::string> names = a.pause;
  if (a.indexers) {
    for (const std::string& n : indexer_names()) names.push_back(n);
  }
  if (const char* extra = std::getenv("INDEXER_EXTRA_NAMES"); extra != nullptr) {
    for (const std::string& n : lines_of(extra)) names.push_back(n);
  }
  const InterruptWaits waits;  // the command ends by itself, and what was paused goes on
  TRY(const auto paused, PausedProcesses::pause(names));
  for (const ProcessEntry& p : paused->paused()) {
    std::fprintf(stderr, "paused %s (%lld)\n", p.name.c_str(), static_cast<long long>(p.id));
  }
  MachineUse last;
  bool told = false;
  const bool quiet = wait_for_quiet(a.wait_s, 1, [&](const MachineUse& use, double left) {
    last = use;
    if (!told && use.others >= kContendedProcessors) tell_users(use), told = true;
    if (is_terminal(2) && told)
      std::fprintf(stderr, "\r\033[Kwaiting for quiet: %.2f processors, %.0f s left", use.others,
                   left);
    return !interrupted();
  });
  if (is_terminal(2) && told) std::fputs("\r\033[K", stderr);
  if (interrupted()) return 1;
  if (!quiet) {
    std::fprintf(stderr, "not quiet after %.0f s: the command was not run\n", a.wait_s);
    tell_users(last);
    return kNotQuiet;
  }
  ContentionWatch watch;
  TRY(const int status, run_command(a.command));
  const ContentionFacts c = watch.stop();
  std::fprintf(stderr, "meanwhile others used %.2f processors; %lld of %lld samples contended\n",
               c.mean_others, static_cast<long long>(c.contended),
               static_cast<long long>(c.samples));
  return status;
}

}  // namespace

Run add_bench_quiet(CommandLine& sub) {
  auto a = std::make_shared<QuietArguments>();
  sub.add_option("--wait", a->wait_s, "Seconds to wait for quiet, at most")
      ->range(0.0, 86400.0)
      ->capture_default_str();
  sub.add_option("--pause", a->pause, "Pause processes of yours with this name meanwhile")
      ->allow_extra_args(false);
  sub.add_flag("--indexers", a->indexers, "Pause the usual indexers and sync clients");
  sub.add_option("command", a->command, "What to run, behind --")->required();
  sub.footer(
      "INDEXER_EXTRA_NAMES: more names to pause, one a line. Paused processes go on whatever ends\n"
      "this command, its own death included; what was stopped before is left alone.\n"
      "Exit status: the command's; 2 if the machine did not become quiet.\n"
      "Example: mlxcel bench quiet --wait 300 -- mlxcel bench decode -m model.gguf");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
