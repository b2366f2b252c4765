#include "evidence/contention.h"

#include <unistd.h>

#include <chrono>
#include <set>
#include <vector>

#include "evidence/processes.h"

namespace mlxcel {
namespace {

using Clock = std::chrono::steady_clock;

// Ticks of this process, its descendants, and those it has waited for.
int64_t own_ticks() {
  const std::vector<ProcessEntry> all = all_processes();
  const std::set<int64_t> ours = tree_of(getpid(), all);
  int64_t ticks = 0;
  for (const ProcessEntry& p : all) ticks += ours.contains(p.id) ? p.ticks : 0;
  return ticks;
}

}  // namespace

json::object ContentionFacts::to_json() const {
  return {{"samples", samples},
          {"contended", contended},
          {"fraction", fraction()},
          {"mean_other_processors", mean_others},
          {"contended_above_processors", kContendedProcessors}};
}

ContentionWatch::ContentionWatch(int interval_ms)
    : interval_ms_(interval_ms), thread_([this] { watch(); }) {}

ContentionWatch::~ContentionWatch() { stop(); }

void ContentionWatch::watch() {
  const auto hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
  int64_t busy = busy_ticks(), own = own_ticks();
  auto since = Clock::now();
  while (!stopping_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    if (seconds * 1000 < interval_ms_) continue;
    const int64_t busy_now = busy_ticks(), own_now = own_ticks();
    const auto ticks = static_cast<double>((busy_now - busy) - (own_now - own));
    const double others = ticks / hertz / seconds;
    facts_.samples++;
    // Two ticks are what counting in whole ticks can be off by.
    facts_.contended += others > kContendedProcessors + 2 / hertz / seconds;
    others_ += others;
    busy = busy_now, own = own_now, since = Clock::now();
  }
  if (facts_.samples > 0) facts_.mean_others = others_ / static_cast<double>(facts_.samples);
}

ContentionFacts ContentionWatch::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return facts_;
}

}  // namespace mlxcel
