#include "evidence/quiet.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <sstream>
#include <thread>

#include "base/cat.h"
#include "evidence/contention.h"

namespace mlxcel {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What the watchdog is told: stop it may, or one more process to let go on.
struct Note {
  int64_t id, started;
};
constexpr Note kDone = {0, 0};
constexpr int kMostPaused = 512;

// Ticks after boot at which process `id` started; 0: it is gone. System calls only: this runs in
// the child of a fork.
int64_t started(int64_t id) {
  char path[32] = "/proc/", digits[24];
  int n = 0;
  for (int64_t v = id; v > 0; v /= 10) digits[n++] = static_cast<char>('0' + v % 10);
  size_t at = 6;
  while (n > 0) path[at++] = digits[--n];
  std::memcpy(path + at, "/stat", 6);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  const char* p = text + size;
  while (p > text && *p != ')') p--;
  for (int field = 0; field < 20 && p < text + size; p++) field += *p == ' ';
  int64_t value = 0;
  for (; p < text + size && *p >= '0' && *p <= '9'; p++) value = value * 10 + (*p - '0');
  return value;
}

void resume(const Note& n) {
  if (started(n.id) == n.started) kill(static_cast<pid_t>(n.id), SIGCONT);
}

// Reads notes until it is told to stop, or until the other end is closed by the death of its owner.
[[noreturn]] void watch(int notes) {
  static Note all[kMostPaused];
  int count = 0;
  setsid();
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(s, SIG_IGN);
  for (int fd = 0; fd < 1024; fd++) {
    if (fd != notes) close(fd);
  }
  Note n{};
  for (ssize_t size; (size = read(notes, &n, sizeof n)) != 0;) {
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof n) break;
    if (n.id == kDone.id) _exit(0);
    if (count < kMostPaused) all[count++] = n;
  }
  for (int i = 0; i < count; i++) resume(all[i]);
  _exit(0);
}

}  // namespace

MachineUse look_at_machine(double seconds) {
  const auto hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto before = all_processes();
  const int64_t busy = busy_ticks();
  const auto start = SteadyClock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const auto after = all_processes();
  const int64_t busy_now = busy_ticks();
  const double past = std::chrono::duration<double>(SteadyClock::now() - start).count();
  std::map<std::pair<int64_t, int64_t>, int64_t> ticks;
  for (const ProcessEntry& p : before) ticks[{p.id, p.started}] = p.ticks;
  const auto ours = tree_of(getpid(), after);
  MachineUse use;
  int64_t own = 0;
  for (const ProcessEntry& p : after) {
    const int64_t used = p.ticks - ticks[{p.id, p.started}];
    if (ours.contains(p.id)) {
      own += used;
    } else if (used > 0) {
      use.users.push_back({p, static_cast<double>(used) / hertz / past});
    }
  }
  use.others = std::max(0.0, static_cast<double>(busy_now - busy - own) / hertz / past);
  std::sort(use.users.begin(), use.users.end(),
            [](const ProcessUse& a, const ProcessUse& b) { return a.processors > b.processors; });
  return use;
}

bool wait_for_quiet(double limit_s, double look_s,
                    const std::function<bool(const MachineUse&, double)>& on_look) {
  constexpr int kLooks = 3;
  const auto start = SteadyClock::now();
  for (int quiet = 0; quiet < kLooks;) {
    const MachineUse use = look_at_machine(look_s);
    quiet = use.others < kContendedProcessors ? quiet + 1 : 0;
    const double left = limit_s - std::chrono::duration<double>(SteadyClock::now() - start).count();
    if (!on_look(use, left) || (left <= 0 && quiet < kLooks)) return false;
  }
  return true;
}

Status PausedProcesses::start_watchdog() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{Code::kIo, cat("pipe: ", std::strerror(errno))};
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]), close(ends[1]);
    return Error{Code::kIo, cat("fork: ", std::strerror(errno))};
  }
  if (child == 0) watch(ends[0]);  // it closes ends[1] with all others
  close(ends[0]);
  pipe_ = ends[1], watchdog_ = child;
  return Ok{};
}

Status PausedProcesses::pause_matching(const std::vector<std::string>& names) {
  const auto all = all_processes();
  std::set<int64_t> never = tree_of(getpid(), all);
  never.merge(ancestors_of(getpid(), all));
  for (const ProcessEntry& p : all) {
    const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& n) {
      constexpr size_t kNameLength = 15;  // the system keeps no more of it
      return p.name == n.substr(0, kNameLength);
    });
    const bool stopped = p.state == 'T' || p.state == 't' || p.state == 'Z';
    const bool known = std::any_of(paused_.begin(), paused_.end(), [&](const ProcessEntry& q) {
      return q.id == p.id && q.started == p.started;  // its stop may still be on the way
    });
    if (!named || stopped || known || p.user != getuid() || never.contains(p.id)) continue;
    if (paused_.size() == kMostPaused)
      return Error{Code::kExhausted, cat("bench quiet: expected at most ", kMostPaused,
                                         " processes to pause, found more")};
    const Note n = {p.id, p.started};
    // The watchdog knows before the process stops.
    if (write(pipe_, &n, sizeof n) != sizeof n)
      return Error{Code::kIo, cat("bench quiet: watchdog: ", std::strerror(errno))};
    if (kill(static_cast<pid_t>(p.id), SIGSTOP) == 0) paused_.push_back(p);
  }
  return Ok{};
}

Result<std::unique_ptr<PausedProcesses>> PausedProcesses::pause(
    const std::vector<std::string>& names) {
  std::unique_ptr<PausedProcesses> p(new PausedProcesses);
  if (names.empty()) return p;
  TRY_OK(p->start_watchdog());
  for (int i = 0; i < 2; i++) TRY_OK(p->pause_matching(names));  // twice: one may have forked
  return p;
}

PausedProcesses::~PausedProcesses() {
  for (const ProcessEntry& p : paused_) resume({p.id, p.started});
  if (pipe_ < 0) return;
  // If this fails, the end of the pipe tells the same.
  if (write(pipe_, &kDone, sizeof kDone) < 0) errno = 0;
  close(pipe_);
  while (waitpid(watchdog_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::vector<std::string> indexer_names() {
  return {"tracker-miner-fs-3",
          "tracker-extract-3",
          "localsearch-3",
          "baloo_file",
          "baloo_file_extractor",
          "updatedb",
          "plocate-build",
          "zeitgeist-daemon",
          "dropbox",
          "nextcloud",
          "syncthing",
          "insync",
          "onedrive",
          "packagekitd"};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace mlxcel
