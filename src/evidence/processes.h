// Who runs on this machine, as /proc tells it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mlxcel {

struct ProcessEntry {
  int64_t id = 0, parent = 0;
  int64_t ticks = 0;    // of processor time, with those it has waited for
  int64_t started = 0;  // ticks after boot: with the id it names a process for good
  std::string name;     // at most 15 characters
  char state = '?';     // 'T': stopped
  uint32_t user = 0;
};

std::vector<ProcessEntry> all_processes();
// `root` and its descendants.
std::set<int64_t> tree_of(int64_t root, const std::vector<ProcessEntry>& all);
// `id`, its parent, and so on.
std::set<int64_t> ancestors_of(int64_t id, const std::vector<ProcessEntry>& all);

// Ticks that all processors have worked: user, nice, system, irq, softirq and stolen.
int64_t busy_ticks();

}  // namespace mlxcel
