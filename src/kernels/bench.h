// For micro-benchmarks: how long a body takes on one thread.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/isa.h"

namespace mlxcel {

struct Seconds {
  double median, best;  // per call
};

// At least 21 samples of at least 2 ms each, in CPU time of this thread: other processes then cost
// only the caches they share.
template <class Body>
Seconds measure(Body body) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const auto sample = [&](int64_t calls) {
    const double start = now();
    for (int64_t i = 0; i < calls; i++) body();
    return (now() - start) / static_cast<double>(calls);
  };
  int64_t calls = 1;
  while (sample(calls) * static_cast<double>(calls) < 0.002) calls *= 2;
  std::array<double, 21> times;
  for (double& t : times) t = sample(calls);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0]};
}

}  // namespace mlxcel
