// How fast this machine reads memory, by our own threads: the limit that decode is compared with.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/result.h"
#include "base/threads.h"

namespace mlxcel {

class ReadBandwidth {
 public:
  // A buffer of at least twice the last-level cache and 256 MiB, at most a quarter of free memory.
  static Result<ReadBandwidth> open(int threads, int64_t cache_bytes);

  // Bytes per second of the best of `passes` passes: disturbances only slow a pass down.
  double measure(int passes = 3) { return best_of(passes, bytes(), 1); }
  // The same where only `working_set` bytes are read, again and again, as a model's steps do: what
  // fits into a cache is then read from there. A pass reads about as much as one of `measure`.
  double measure_working_set(int64_t working_set, int passes = 3);
  int64_t bytes() const { return buffer_.size(); }

 private:
  ReadBandwidth(Buffer buffer, int threads) : buffer_(std::move(buffer)), threads_(threads) {}

  double best_of(int passes, int64_t bytes, int64_t times);

  Buffer buffer_;
  int threads_;
};

}  // namespace mlxcel
