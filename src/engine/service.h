// Service: the engine on a thread of its own, behind a bounded queue.
//
// submit and cancel may be called from any thread, also from a request's callbacks, which run on
// the engine's thread. A request is checked before it is queued, so that its sender learns at once
// what is wrong.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/turns.h"

namespace mlxcel {

struct ServiceOptions {
  int32_t max_queue = 32;        // requests beyond those that can run at once
  std::shared_ptr<Turns> turns;  // of all engines on the same cores; none: it has them alone
};

class Service {
 public:
  // The engine must outlive the service and is its alone.
  Service(Engine& engine, const ServiceOptions& options);
  ~Service() { stop(); }
  Service(const Service&) = delete;

  // kExhausted if the queue is full, kCancelled after drain or stop.
  Result<RequestId> submit(Request request);
  void cancel(RequestId id);

  // Runs `work` on the engine's thread, between two steps, and returns when it has run. kCancelled
  // after drain or stop. Not from the engine's thread.
  Status between_steps(std::function<void(Engine& engine)> work);

  void drain();  // refuses new requests, and returns when all others have ended
  void stop();   // cancels everything, and returns when its callbacks have run

  void set_max_queue(int32_t requests) { max_queue_ = requests; }

  // As of the last step, and of every request whose on_finish was called: it is counted before.
  EngineStats stats() const;
  int32_t in_flight() const { return in_flight_; }  // whose on_finish was not called
  Status integrity() const;                         // as of the last time the engine was idle

 private:
  struct Queued {
    RequestId id;
    Request request;
  };

  void loop();
  void step();
  void publish_stats();
  bool take_orders();  // false: stop
  void check_idle(std::unique_lock<std::mutex>& lock);
  void close(bool cancel_all);

  Engine& engine_;
  const std::shared_ptr<Turns> turns_;
  std::atomic<int32_t> max_queue_;
  std::atomic<int32_t> in_flight_ = 0;

  mutable std::mutex mutex_;  // of everything below
  std::condition_variable orders_;
  std::vector<Queued> queue_;
  std::vector<RequestId> cancels_;
  std::vector<std::function<void()>> work_;
  bool closed_ = false, cancel_all_ = false;
  EngineStats stats_;
  Status integrity_ = Ok{};

  // The engine thread's own, swapped with the two above.
  std::vector<Queued> taken_;
  std::vector<RequestId> taken_cancels_;
  std::vector<std::function<void()>> taken_work_;
  std::vector<RequestId> live_;
  std::mutex joining_;
  std::thread thread_;  // last: starts when all else is there
};

}  // namespace mlxcel
