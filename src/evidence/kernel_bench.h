// bench kernel: one kernel on one thread, with its inputs warm in the caches or cold.
//
// A loop over one input measures the caches. In cold mode the input exists in as many copies as
// exceed the last-level cache twice, and each call takes the next: by the time a copy comes again
// it has been evicted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mlxcel {

struct KernelCase {
  std::string shape;    // "1 row, 576 -> 1536, Q4_1"
  std::string path;     // the code that runs: "matmul_q4_1/avx2/direct"
  int64_t bytes = 0;    // read and written by a call
  int64_t rotated = 0;  // of them, what is copied in cold mode
  double flops = 0;     // a multiply and an add are two
  // Makes `copies` of the inputs; the result runs the kernel on one of them.
  std::function<std::function<void(int copy)>(int copies)> prepare;
};

struct KernelTimes {
  int rotation = 1;
  bool cold = false;  // the copies are twice what the cache holds: 64 of a small input may not be
  std::vector<double> seconds;  // of a call; one entry per sample, in processor time
};

// ceil(2 * cache / bytes), at least 1, at most 64.
int rotation_count(int64_t cache_bytes, int64_t bytes);

// `samples` of at least 2 ms each, after one that does not count.
KernelTimes measure_kernel(const KernelCase& c, bool cold, int64_t cache_bytes, int samples);

// Two ways to do one thing. iso: each alone in a loop. pipe: each behind a forward that reads more
// than the caches hold, as a decode loop does; an operation that is only fast with warm caches or a
// drained caller shows there.
struct ScenarioTimes {
  int rotation = 1;
  std::vector<double> iso_base, iso_arm, pipe_base, pipe_arm;  // seconds of a call, pair by pair
  double iso_x() const;   // median of base / arm, pair by pair: above 1 the arm is faster
  double pipe_x() const;  // the same of whole loops
};

// Samples of base and arm alternate, the order turns around (ABBA). REQUIRES: equal `rotated`.
ScenarioTimes measure_scenario(const KernelCase& base, const KernelCase& arm,
                               const std::function<void()>& forward, bool cold, int64_t cache_bytes,
                               int samples);

// Refuses two arms of one dispatch path: they measure nothing.
Status check_two_paths(const KernelCase& base, const KernelCase& arm);

// Operations per second of one thread that does nothing but f32 multiply-adds, in the widest
// vectors of this CPU.
double peak_flops();

}  // namespace mlxcel
