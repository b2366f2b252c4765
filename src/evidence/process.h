// Runs a shell command and says what it took.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace mlxcel {

struct ProcessResult {
  int status = 0;  // exit status; 128 + signal
  std::string output;
  double wall_s = 0;
  double cpu_s = 0;  // user and system, with the processes that it waited for
};

// `/bin/sh -c command`, its standard output kept, its standard error ours.
Result<ProcessResult> run_process(const std::string& command);

// A shell command that runs beside us, in a process group of its own; ended when this goes.
class BackgroundProcess {
 public:
  // Its output goes to `log`, a file.
  static Result<BackgroundProcess> start(const std::string& command, const std::string& log);
  BackgroundProcess(BackgroundProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  BackgroundProcess(const BackgroundProcess&) = delete;
  ~BackgroundProcess() { stop(); }

  bool running();  // false: it ended by itself
  void stop();     // SIGTERM; SIGKILL after ten seconds

 private:
  explicit BackgroundProcess(int pid) : pid_(pid) {}
  int pid_ = 0;  // 0: ended
};

}  // namespace mlxcel
