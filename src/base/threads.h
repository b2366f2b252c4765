// A team of threads that runs one function at a time on all of them: the only threads below the
// engine.
//
// Handing over costs about a microsecond: workers spin briefly after each job and park when none
// comes. The caller is thread 0. Every worker sets its own floating-point mode: round to nearest,
// denormals kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/numa.h"

namespace mlxcel {

// Processors that this process may use: affinity and cgroup quota, at least 1.
int usable_processors();

// The least cpu.max of cgroup `group` ("/a/b") and of those around it, in processors, rounded up; a
// large number if there is none. `root` is where the system shows cgroups.
int cgroup_quota(const std::string& root, std::string group);

// Round to nearest, no flush to zero, for the calling thread.
void set_exact_float_mode();

class ThreadTeam {
 public:
  // size() is less if the system gives no more threads. Where there are several `nodes`, workers
  // are dealt to them and stay there; the caller is left where it is.
  explicit ThreadTeam(int threads, std::vector<NumaNode> nodes = numa_nodes());
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }
  const std::vector<NumaNode>& nodes() const { return nodes_; }  // empty: memory is one

  // body(thread, threads) on every thread of the team; returns when all have. Not from inside a
  // body.
  template <class Body>
  void run(Body&& body) {
    job_context_ = &body;
    job_ = [](const void* context, int thread, int threads) {
      (*static_cast<std::remove_reference_t<Body>*>(const_cast<void*>(context)))(thread, threads);
    };
    run_job();
  }

  // body(item) for each item in [0, items), items handed out in order as threads become free.
  template <class Body>
  void each(int64_t items, Body&& body) {
    next_.store(0, std::memory_order_relaxed);
    run([&](int, int) {
      for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < items;) body(i);
    });
  }

 private:
  void run_job();
  void work(int thread);

  using Job = void (*)(const void* context, int thread, int threads);
  Job job_ = nullptr;
  const void* job_context_ = nullptr;
  std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};  // counts jobs; workers wait for it to move
  alignas(64) std::atomic<int> running_{0};     // workers that have not finished the job
  alignas(64) std::atomic<int> parked_{0};      // workers asleep on epoch_
  std::atomic<bool> stop_{false};
  int join_spins_;
  const std::vector<NumaNode> nodes_;
  const std::vector<int> places_;  // in nodes_, of each thread
  std::vector<std::thread> workers_;
};

}  // namespace mlxcel
