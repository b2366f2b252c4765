#include "engine/service.h"

#include <algorithm>
#include <future>

#include "base/cat.h"

namespace mlxcel {

Service::Service(Engine& engine, const ServiceOptions& options)
    : engine_(engine),
      turns_(options.turns),
      max_queue_(options.max_queue),
      thread_([this] { loop(); }) {}

Result<RequestId> Service::submit(Request request) {
  TRY_OK(engine_.check(request));
  const std::lock_guard lock(mutex_);
  if (closed_) return Error{Code::kCancelled, "engine: shutting down"};
  const int32_t most = engine_.options().max_sequences + max_queue_;
  if (in_flight_ >= most)
    return Error{Code::kExhausted, cat("engine: ", in_flight_.load(), " requests are running or ",
                                       "waiting, expected fewer than ", most)};
  in_flight_++;
  const RequestId id = engine_.next_id();
  queue_.push_back({id, std::move(request)});
  orders_.notify_one();
  return id;
}

void Service::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  cancels_.push_back(id);
  orders_.notify_one();
}

Status Service::between_steps(std::function<void(Engine& engine)> work) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return Error{Code::kCancelled, "engine: shutting down"};
    work_.emplace_back([&] {
      work(engine_);
      done.set_value();
    });
    orders_.notify_one();
  }
  done.get_future().wait();
  return Ok{};
}

// ---- the engine's thread

void Service::loop() {
  while (take_orders()) {
    for (Queued& q : taken_) {
      live_.push_back(q.id);
      auto told = std::move(q.request.on_finish);
      q.request.on_finish = [this, told = std::move(told)](const FinishEvent& e) {
        live_.erase(std::find(live_.begin(), live_.end(), e.id));
        publish_stats();  // first: whoever is told of an end finds it counted
        in_flight_--;
        if (told) told(e);
      };
      engine_.add(q.id, std::move(q.request));
    }
    taken_.clear();
    for (const auto& work : taken_work_) work();
    taken_work_.clear();
    for (const RequestId id : taken_cancels_) engine_.cancel(id);
    taken_cancels_.clear();
    step();
    publish_stats();
  }
}

void Service::step() {
  std::unique_lock<Turns> turn;
  if (turns_) turn = std::unique_lock(*turns_);
  engine_.step();
}

void Service::publish_stats() {
  const std::lock_guard lock(mutex_);
  stats_ = engine_.stats();
}

// Counts every page: not under the lock, behind which clients wait. The first breach is kept.
void Service::check_idle(std::unique_lock<std::mutex>& lock) {
  if (!integrity_) return;
  lock.unlock();
  Status found = engine_.check_integrity();
  lock.lock();
  integrity_ = std::move(found);
}

bool Service::take_orders() {
  std::unique_lock lock(mutex_);
  if (!engine_.busy() && queue_.empty() && work_.empty()) {
    check_idle(lock);
    orders_.wait(lock, [&] { return !queue_.empty() || !work_.empty() || closed_; });
    if (queue_.empty() && work_.empty()) return false;
  }
  taken_work_.swap(work_);
  taken_.swap(queue_);
  taken_cancels_.swap(cancels_);
  if (cancel_all_) {
    taken_cancels_ = live_;
    for (const Queued& q : taken_) taken_cancels_.push_back(q.id);
  }
  return true;
}

// ---- ending

void Service::close(bool cancel_all) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    cancel_all_ = cancel_all_ || cancel_all;
    orders_.notify_one();
  }
  const std::lock_guard lock(joining_);
  if (thread_.joinable()) thread_.join();
}

void Service::drain() { close(false); }

void Service::stop() { close(true); }

EngineStats Service::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Status Service::integrity() const {
  const std::lock_guard lock(mutex_);
  return integrity_;
}

}  // namespace mlxcel
