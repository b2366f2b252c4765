// The half of models.h that runs on the loader's thread: what is loaded next, and who makes room.
#include <algorithm>

#include "base/cat.h"
#include "server/log.h"
#include "server/models.h"
#include "server/settings.h"

namespace mlxcel::server {

// ---- memory

int64_t Models::budget() const {
  const int64_t set = options_.settings->get().models_memory;
  return set > 0 ? set : memory_;
}

// What one model takes at most, unless it needs more.
int64_t Models::share() const {
  if (!many()) return 0;
  const int64_t most = options_.settings->get().models_max;
  const auto known = static_cast<int64_t>(entries_.size());
  return budget() / std::max<int64_t>(1, most > 0 ? std::min(most, known) : known);
}

// The loaded model that goes first: one that answers nothing, then the one asked least recently.
Models::Entry* Models::least_used(const Entry& except) const {
  const auto worth = [](const Entry& m) { return std::pair(m.leases > 0, m.used); };
  Entry* least = nullptr;
  for (const auto& e : entries_) {
    if (e.get() == &except || !e->hosted) continue;
    if (e->leaving) return e.get();
    if (least == nullptr || worth(*e) < worth(*least)) least = e.get();
  }
  return least;
}

// True if the model fits beside what is loaded. Else one of those is asked to leave.
bool Models::make_room(const Entry& wanted) {
  const int64_t most = many() ? options_.settings->get().models_max : 1;
  int64_t loaded = 0, taken = 0;
  for (const auto& e : entries_) {
    if (e.get() == &wanted || !e->hosted) continue;
    loaded++;
    taken += e->hosted->model->bytes();
  }
  const bool room = (most == 0 || loaded < most) && (!many() || taken + wanted.need <= budget());
  if (room || loaded == 0) return true;  // alone: loading itself says whether it fits
  least_used(wanted)->leaving = true;
  tell();
  return false;
}

// ---- the thread

void Models::loop() {
  Lock lock(mutex_);
  while (!stop_) {
    if (work(lock)) continue;
    const auto wake = next_sleep();
    if (wake == Clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, wake);
    }
  }
}

bool Models::work(Lock& lock) {
  put_idle_to_sleep();
  for (const auto& e : entries_) {
    if (e->state != State::kLoaded || !e->leaving || e->leases > 0) continue;
    retire(lock, *e);
    return true;
  }
  Entry* next = nullptr;
  for (const auto& e : entries_) {
    if (e->wanted == 0 || e->leaving) continue;
    if (e->state == State::kUnloaded && (next == nullptr || e->wanted < next->wanted))
      next = e.get();
  }
  if (next == nullptr) return false;
  bring(lock, *next);
  if (next->state != State::kUnloaded || next->wanted == 0) return true;
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& e) { return e->leaving && e->leases == 0; });
}

Clock::time_point Models::next_sleep() const {
  const int64_t seconds = options_.settings->get().sleep_idle_seconds;
  auto next = Clock::time_point::max();
  if (seconds < 0) return next;
  for (const auto& e : entries_)
    if (e->state == State::kLoaded && e->leases == 0)
      next = std::min(next, e->used + std::chrono::seconds(seconds));
  return next;
}

void Models::put_idle_to_sleep() {
  const int64_t seconds = options_.settings->get().sleep_idle_seconds;
  if (seconds < 0) return;
  const auto before = Clock::now() - std::chrono::seconds(seconds);
  for (const auto& e : entries_) {
    if (e->state != State::kLoaded || e->leases > 0 || e->used > before) continue;
    e->leaving = e->sleeping = true;
    tell();
  }
}

// What loading takes: within the model's share of the budget, or all of it if that is too little.
Status Models::count(Lock& lock, Entry& e) {
  const int64_t part = share(), whole = many() ? budget() : 0;
  const std::string name = e.name.name;
  lock.unlock();
  int64_t most = part;
  auto bytes = source_->bytes(name, most);
  if (!bytes && bytes.error().code == Code::kExhausted && part < whole) {
    most = whole;
    bytes = source_->bytes(name, most);
  }
  lock.lock();
  if (!bytes) return bytes.error();
  e.need = *bytes, e.most = most;
  return Ok{};
}

// Loads the model, or asks another one to leave: then this is called again.
void Models::bring(Lock& lock, Entry& e) {
  if (e.need < 0) {
    if (const Status counted = count(lock, e); !counted) return failed(lock, e, counted.error());
  }
  if (!make_room(e)) return;
  const std::string name = e.name.name;
  const int64_t most = e.most, need = std::exchange(e.need, -1);
  e.state = State::kLoading;
  e.sleeping = false;
  e.permille = 0;
  tell();
  lock.unlock();
  log_info("model_loading", {{"model", name}, {"bytes", need}});
  auto opened = source_->open(name, most, [this, &e](int64_t done, int64_t total) {
    constexpr int kStep = 50;  // of a thousand, between two events
    const int now = static_cast<int>(total > 0 ? done * 1000 / total : 0);
    const int before = e.permille.exchange(now);
    if (before / kStep == now / kStep) return;
    const std::lock_guard watching(mutex_);
    tell(e, "status_update");
  });
  lock.lock();
  if (opened) return loaded(lock, e, std::move(*opened));
  e.state = State::kUnloaded;
  // Memory that others took meanwhile: one model of ours makes room, if there is one.
  Entry* other = least_used(e);
  if (opened.error().code != Code::kExhausted || other == nullptr)
    return failed(lock, e, opened.error());
  other->leaving = true;
  tell();
}

void Models::loaded(Lock& lock, Entry& e, std::unique_ptr<RunningModel> model) {
  const auto queue = static_cast<int32_t>(options_.settings->get().max_queue_depth);
  e.hosted = std::make_shared<Hosted>(std::move(model), options_, ServiceOptions{queue, turns_});
  e.hosted->api.draining = draining_;
  e.state = State::kLoaded;
  e.failure.clear();
  e.used = Clock::now();
  e.wanted = 0;
  tell();
  log_info("model_loaded", {{"model", e.name.name}, {"bytes", e.hosted->model->bytes()}});
  answer_waiting(lock, e);
}

void Models::answer_waiting(Lock& lock, Entry& e) {
  while (!e.waiting.empty() && !stop_) {
    Waiting w = std::move(e.waiting.front());
    e.waiting.pop_front();
    if (w.exchange->is_gone()) continue;
    w.exchange->keep(lease(e, false));
    lock.unlock();
    w.handler(e.hosted->api, std::move(w.exchange));  // only this thread unloads
    lock.lock();
  }
  if (e.waiting.empty()) e.wanted = 0;
}

void Models::failed(Lock& lock, Entry& e, const Error& why) {
  e.failure = why.message;
  e.wanted = 0;
  e.told.clear();  // told again: it may be as unloaded as before
  tell();
  std::deque<Waiting> waiting;
  waiting.swap(e.waiting);
  const std::string name = e.name.name;
  lock.unlock();
  log_info("model_failed", {{"model", name}, {"why", why.message}});
  refuse(waiting, {why.code == Code::kExhausted ? 503 : 500,
                   cat("model: ", name, " could not be loaded: ", why.message), "model_load_failed",
                   "model"});
  lock.lock();
}

void Models::retire(Lock& lock, Entry& e) {
  std::shared_ptr<Hosted> hosted = std::move(e.hosted);
  e.state = State::kUnloading;
  e.leaving = false;
  tell();
  lock.unlock();
  hosted->service.stop();
  Status sound = hosted->service.integrity();
  hosted.reset();
  lock.lock();
  if (!sound && integrity_) integrity_ = std::move(sound);
  e.state = State::kUnloaded;
  tell();
  if (!e.waiting.empty()) want(e);
  log_info("model_unloaded", {{"model", e.name.name}, {"sleeps", e.sleeping}});
}

}  // namespace mlxcel::server
