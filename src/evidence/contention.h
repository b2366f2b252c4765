// Who else used the processors while we measured. A start on a quiet machine proves nothing about
// the end, so a thread looks all the time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/json.h"

namespace mlxcel {

struct ContentionFacts {
  int64_t samples = 0, contended = 0;
  double mean_others = 0;  // processors that others used

  double fraction() const {
    return samples == 0 ? 0 : static_cast<double>(contended) / static_cast<double>(samples);
  }
  json::object to_json() const;
};

// More than this many processors used by others: contended.
inline constexpr double kContendedProcessors = 0.1;

// Samples from construction until stop(). Our own use is that of this process and of its
// descendants.
class ContentionWatch {
 public:
  explicit ContentionWatch(int interval_ms = 500);
  ~ContentionWatch();
  ContentionFacts stop();

 private:
  void watch();

  int interval_ms_;
  std::atomic<bool> stopping_{false};
  ContentionFacts facts_;
  double others_ = 0;
  std::thread thread_;
};

}  // namespace mlxcel
