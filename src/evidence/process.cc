#include "evidence/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/cat.h"

namespace mlxcel {
namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

Result<ProcessResult> run_process(const std::string& command) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return Error{Code::kIo, cat("pipe: ", std::strerror(errno))};
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) {
    close(out[0]), close(out[1]);
    return Error{Code::kIo, cat("fork: ", std::strerror(errno))};
  }
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(out[1]);
  ProcessResult r;
  char buffer[4096];
  for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) != 0;) {
    if (n > 0) r.output.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(out[0]);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  r.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  r.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

Result<BackgroundProcess> BackgroundProcess::start(const std::string& command,
                                                   const std::string& log) {
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0) return Error{Code::kIo, cat(log, ": ", std::strerror(errno))};
  const std::string replaced = cat("exec ", command);  // so that signals reach the command itself
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // if we are killed, it ends too
    dup2(out, STDOUT_FILENO), dup2(out, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", replaced.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(out);
  if (child < 0) return Error{Code::kIo, cat("fork: ", std::strerror(errno))};
  setpgid(child, child);  // here too: whoever comes first
  return BackgroundProcess(child);
}

bool BackgroundProcess::running() {
  if (pid_ == 0) return false;
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

void BackgroundProcess::stop() {
  constexpr int kTries = 1000;
  if (pid_ == 0) return;
  kill(-pid_, SIGTERM);
  for (int i = 0; i < kTries && running(); i++) usleep(10'000);
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace mlxcel
