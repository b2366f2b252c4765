// Turns: engines that share a machine's cores run their steps one after another, in the order in
// which they asked. Each step has all the threads; two teams on the same cores would take them from
// each other at every barrier. Nobody waits longer than one step of every other engine.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mlxcel {

// A mutex (BasicLockable) that is first come, first served.
class Turns {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    const uint64_t mine = next_++;
    changed_.wait(lock, [&] { return served_ == mine; });
  }
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      served_++;
    }
    changed_.notify_all();
  }
  // Who holds it and who waits.
  uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return next_ - served_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, served_ = 0;
};

}  // namespace mlxcel
