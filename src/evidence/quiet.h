// A quiet machine to measure on: who disturbs, waiting until they do not, and pausing those that
// the user names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "evidence/processes.h"

namespace mlxcel {

struct ProcessUse {
  ProcessEntry process;
  double processors = 0;
};

struct MachineUse {
  double others = 0;              // processors that others use, also those not listed
  std::vector<ProcessUse> users;  // others, busiest first, those that used any
};

// Watches for `seconds`. Others: not this process, nor its descendants.
MachineUse look_at_machine(double seconds);

// True when others have used less than kContendedProcessors for three looks in a row; false after
// `limit_s`, or when `on_look` returns false.
bool wait_for_quiet(double limit_s, double look_s,
                    const std::function<bool(const MachineUse&, double seconds_left)>& on_look);

// Stops processes by name (SIGSTOP) and lets them go on (SIGCONT) when it is destroyed, and if this
// process dies in any way: a second process waits for that.
//
// Only of this user; never this process, its ancestors or descendants; never what was stopped
// before.
class PausedProcesses {
 public:
  static Result<std::unique_ptr<PausedProcesses>> pause(const std::vector<std::string>& names);
  ~PausedProcesses();
  PausedProcesses(const PausedProcesses&) = delete;
  PausedProcesses& operator=(const PausedProcesses&) = delete;

  const std::vector<ProcessEntry>& paused() const { return paused_; }

 private:
  PausedProcesses() = default;
  Status start_watchdog();
  Status pause_matching(const std::vector<std::string>& names);

  int pipe_ = -1;
  int watchdog_ = -1;
  std::vector<ProcessEntry> paused_;
};

// Background indexers and sync clients that wake up when a machine is left alone.
std::vector<std::string> indexer_names();
// One name a line, as INDEXER_EXTRA_NAMES holds them.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace mlxcel
