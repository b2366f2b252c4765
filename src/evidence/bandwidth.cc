#include "evidence/bandwidth.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/cat.h"

namespace mlxcel {
namespace {

// Or of all words, in four streams of whole cache lines, each fetched ahead as the kernels do:
// enough misses in flight for one core.
uint64_t read_streams(const std::byte* p, int64_t bytes) {
  using Words = uint64_t __attribute__((vector_size(16)));
  constexpr int64_t kAhead = 1280;
  const int64_t part = bytes / 4 / 64 * 64;
  Words sum[4] = {};
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < 4; s++) {
      const std::byte* at = p + s * part + i;
      __builtin_prefetch(at + kAhead);  // beyond the end too: it cannot fault
      Words line[4];
      std::memcpy(line, at, 64);
      sum[s] |= (line[0] | line[1]) | (line[2] | line[3]);
    }
  }
  const Words all = (sum[0] | sum[1]) | (sum[2] | sum[3]);
  return all[0] | all[1];
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

double ReadBandwidth::measure_working_set(int64_t working_set, int passes) {
  const int64_t least = 256 * int64_t{threads_};
  const int64_t bytes = std::clamp(working_set, least, buffer_.size());
  if (bytes < buffer_.size()) best_of(1, bytes, 1);  // into the caches
  return best_of(passes, bytes, std::max<int64_t>(1, buffer_.size() / bytes));
}

// `times` times the first `bytes` bytes are a pass.
double ReadBandwidth::best_of(int passes, int64_t bytes, int64_t times) {
  ThreadTeam team(threads_);
  std::vector<uint64_t> sums(static_cast<size_t>(threads_) * 8);  // a cache line each
  double best = 0;
  for (int i = 0; i < passes; i++) {
    const double start = now(threads_);
    team.run([&](int t, int n) {
      const int64_t part = bytes / n / 256 * 256;
      for (int64_t j = 0; j < times; j++)
        sums[static_cast<size_t>(t) * 8] += read_streams(buffer_.data() + t * part, part);
    });
    const auto read = static_cast<double>(bytes * times);
    best = std::max(best, read / (now(threads_) - start));
  }
  uint64_t all = 0;
  for (const uint64_t s : sums) all |= s;
  return all == 0 ? 0 : best;  // never 0: keeps the reads alive
}

}  // namespace mlxcel
