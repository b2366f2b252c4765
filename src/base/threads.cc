#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/cgroup.h"
#include "base/check.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlxcel {
namespace {

// How long to wait before the processor is left to others, in pauses of 15 to 50 ns. Where each
// thread has a processor, all waits of a step and between steps end within kMostSpins. Where waits
// are in vain, because other threads need the processors, they soon get kLeastSpins.
constexpr int kMostSpins = 16000, kLeastSpins = 250;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for up to `spins` pauses, and learns from the outcome how long the next wait may be.
template <class Ready>
bool spin(Ready ready, int& spins) {
  for (int i = 0; i < spins; i++) {
    if (ready()) {
      spins = std::min(kMostSpins, 2 * spins);
      return true;
    }
    pause();
  }
  spins = std::max(kLeastSpins, spins / 2);
  return ready();
}

constexpr int kNoQuota = 1 << 20;

// The quota in a cpu.max file, in processors, rounded up; kNoQuota if there is none.
int quota_in(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return kNoQuota;
  char quota[32] = "";
  long long period = 0;
  const int fields = std::fscanf(file, "%31s %lld", quota, &period);
  std::fclose(file);
  if (fields != 2 || period <= 0 || std::strcmp(quota, "max") == 0) return kNoQuota;
  const long long q = std::atoll(quota);
  return q <= 0 ? kNoQuota
                : static_cast<int>(std::min<long long>(kNoQuota, (q + period - 1) / period));
}

}  // namespace

int cgroup_quota(const std::string& root, std::string group) {
  int least = quota_in(root + "/cpu.max");
  for (; group.size() > 1; group.resize(group.rfind('/'))) {
    least = std::min(least, quota_in(root + group + "/cpu.max"));
  }
  return least;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int n = sched_getaffinity(0, sizeof set, &set) == 0
              ? CPU_COUNT(&set)
              : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(n, cgroup_quota("/sys/fs/cgroup", own_cgroup())));
}

void set_exact_float_mode() {
#if defined(__x86_64__)
  constexpr unsigned kAllMasked =
      0x1f80;  // exceptions masked, nearest, no flush to zero, no denormals-are-zero
  _mm_setcsr(kAllMasked);
#elif defined(__aarch64__)
  uint64_t none = 0;
  asm volatile("msr fpcr, %0" ::"r"(none));
#endif
}

ThreadTeam::ThreadTeam(int threads, std::vector<NumaNode> nodes)
    : join_spins_(kMostSpins), nodes_(std::move(nodes)), places_(deal_threads(nodes_, threads)) {
  CHECK(threads >= 1);
  try {  // the library tells of a thread that the system refuses by throwing
    for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
  }
}

ThreadTeam::~ThreadTeam() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ThreadTeam::run_job() {
  if (workers_.empty()) {
    job_(job_context_, 0, 1);
    return;
  }
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) epoch_.notify_all();
  job_(job_context_, 0, size());
  const auto done = [this] { return running_.load(std::memory_order_acquire) == 0; };
  if (spin(done, join_spins_)) return;
  while (!done()) sched_yield();  // a worker without a processor does not finish while we spin
}

void ThreadTeam::work(int thread) {
  set_exact_float_mode();
  if (!places_.empty()) stay_on(nodes_[places_[thread]]);
  int spins = kMostSpins;
  for (uint32_t seen = 0;; seen++) {
    const auto called = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
    if (!spin(called, spins)) {
      parked_.fetch_add(1, std::memory_order_seq_cst);
      while (!called()) epoch_.wait(seen, std::memory_order_seq_cst);
      parked_.fetch_sub(1, std::memory_order_seq_cst);
    }
    if (stop_.load(std::memory_order_relaxed)) return;
    job_(job_context_, thread, size());
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace mlxcel
