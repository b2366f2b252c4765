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
  double measure(int passes = 3);
  int64_t bytes() const { return buffer_.size(); }

 private:
  ReadBandwidth(Buffer buffer, int threads) : buffer_(std::move(buffer)), threads_(threads) {}

  Buffer buffer_;
  int threads_;
};

}  // namespace mlxcel
