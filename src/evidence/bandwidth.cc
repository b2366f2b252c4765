#include "evidence/bandwidth.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/cat.h"

namespace mlxcel {
namespace {

// Or of all words, in four streams of whole cache lines: enough misses in flight for one core.
uint64_t read_streams(const std::byte* p, int64_t bytes) {
  const int64_t part = bytes / 4 / 64 * 64;
  uint64_t sum[4][8] = {};
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < 4; s++) {
      uint64_t line[8];
      std::memcpy(line, p + s * part + i, 64);
      for (int j = 0; j < 8; j++) sum[s][j] |= line[j];
    }
  }
  uint64_t all = 0;
  for (const auto& stream : sum) {
    for (const uint64_t word : stream) all |= word;
  }
  return all;
}

// One thread is timed by the processor time that it used: others then cost only the caches.
double now(int threads) {
  timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

Result<ReadBandwidth> ReadBandwidth::open(int threads, int64_t cache_bytes) {
  constexpr int64_t kLeast = 256 << 20;
  const int64_t wanted = std::max(kLeast, 2 * cache_bytes);
  const int64_t bytes = std::min(wanted, available_memory() / 4);
  if (bytes < 2 * cache_bytes) {
    return Error{Code::kExhausted, cat("read bandwidth: expected ", 2 * cache_bytes,
                                       " bytes beyond the caches, found room for ", bytes)};
  }
  TRY(Buffer buffer, Buffer::make(bytes));
  std::memset(buffer.data(), 1, static_cast<size_t>(bytes));  // real pages, not the zero page
  return ReadBandwidth(std::move(buffer), threads);
}

double ReadBandwidth::measure(int passes) {
  ThreadTeam team(threads_);
  std::vector<uint64_t> sums(static_cast<size_t>(threads_) * 8);  // a cache line each
  double best = 0;
  for (int i = 0; i < passes; i++) {
    const double start = now(threads_);
    team.run([&](int t, int n) {
      const int64_t part = buffer_.size() / n / 256 * 256;
      sums[static_cast<size_t>(t) * 8] += read_streams(buffer_.data() + t * part, part);
    });
    best = std::max(best, static_cast<double>(buffer_.size()) / (now(threads_) - start));
  }
  uint64_t all = 0;
  for (const uint64_t s : sums) all |= s;
  return all == 0 ? 0 : best;  // never 0: keeps the reads alive
}

}  // namespace mlxcel
