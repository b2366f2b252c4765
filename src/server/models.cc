#include "server/models.h"

#include <algorithm>

#include "base/cat.h"
#include "server/log.h"
#include "server/settings.h"

namespace mlxcel::server {
namespace {

const ApiError kShuttingDown = {503, "the server is shutting down", "shutting_down"};

}  // namespace

Models::Models(std::unique_ptr<ModelSource> source, const ApiOptions& options)
    : source_(std::move(source)), options_(options), memory_(source_->memory()) {
  rescan();
}

Models::~Models() { stop(); }

// ---- names

Models::Entry* Models::find(const std::string& name) const {
  for (const auto& e : entries_)
    if (e->name.name == name) return e.get();
  for (const auto& e : entries_)
    if (std::find(e->name.aliases.begin(), e->name.aliases.end(), name) != e->name.aliases.end())
      return e.get();
  return nullptr;
}

Result<std::string> Models::resolve(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (name.empty() && entries_.size() == 1) return entries_.front()->name.name;
  if (const Entry* e = find(name); e != nullptr) return e->name.name;
  constexpr size_t kMostShown = 20;
  std::string names;
  for (size_t i = 0; i < std::min(entries_.size(), kMostShown); i++)
    names += cat(i > 0 ? ", " : "", entries_[i]->name.name);
  return Error{name.empty() ? Code::kInvalid : Code::kNotFound,
               cat("model: expected ", entries_.size() == 1 ? "" : "one of ", names, ", found ",
                   name.empty() ? "none" : "another")};
}

void Models::rescan() {
  std::vector<ModelName> names = source_->names();
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& e) {
    const bool there = std::any_of(names.begin(), names.end(),
                                   [&](const ModelName& n) { return n.name == e->name.name; });
    return !there && e->state == State::kUnloaded && e->wanted == 0;
  });
  for (ModelName& n : names) {
    const auto known = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const auto& e) { return e->name.name == n.name; });
    if (known != entries_.end()) continue;
    auto e = std::make_unique<Entry>();
    e->name = std::move(n);
    entries_.push_back(std::move(e));
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const auto& a, const auto& b) { return a->name.name < b->name.name; });
}

// ---- requests

std::shared_ptr<void> Models::lease(Entry& e, bool looks) {
  e.leases++;
  if (!looks) e.used = Clock::now();
  return {&e, [this, looks](void* held) {
            const std::lock_guard lock(mutex_);
            auto* entry = static_cast<Entry*>(held);
            entry->leases--;
            if (!looks) entry->used = Clock::now();
            changed_.notify_all();
          }};
}

void Models::want(Entry& e) {
  if (e.wanted == 0) e.wanted = ++wanted_count_;
  changed_.notify_all();
}

void Models::dispatch(const std::string& name, ModelHandler handler, std::shared_ptr<Exchange> x,
                      bool may_load) {
  std::shared_ptr<void> held;  // until the handler has returned
  std::shared_ptr<Hosted> hosted;
  ApiError refusal;
  {
    const std::lock_guard lock(mutex_);
    Entry* e = find(name);
    if (draining_) {
      refusal = kShuttingDown;
    } else if (e == nullptr) {
      refusal = {404, "model: it is gone", "model_not_found", "model"};
    } else if (e->state == State::kLoaded && !e->leaving && e->waiting.empty()) {
      hosted = e->hosted;
      held = lease(*e, !may_load);
      x->keep(held);
    } else if (!may_load) {
      refusal = {400, cat("model: ", e->name.name, " is not loaded"), "model_not_loaded", "model"};
    } else {
      const int64_t most = options_.settings->get().max_queue_depth + options_.parallel;
      if (static_cast<int64_t>(e->waiting.size()) < most) {
        e->waiting.push_back({handler, std::move(x)});
        want(*e);
        return;
      }
      refusal = {429, cat("model: ", most, " requests wait for ", e->name.name), "queue_full"};
    }
  }
  if (hosted) return handler(hosted->api, std::move(x));
  x->respond(to_response(refusal));
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

void Models::refuse(const std::deque<Waiting>& waiting, const ApiError& error) {
  for (const Waiting& w : waiting) w.exchange->respond(to_response(error));
}

std::deque<Models::Waiting> Models::take_all_waiting() {
  std::deque<Waiting> all;
  for (const auto& e : entries_) {
    for (Waiting& w : e->waiting) all.push_back(std::move(w));
    e->waiting.clear();
    e->wanted = 0;
  }
  return all;
}

// ---- orders

Status Models::load(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Entry* e = find(name);
  if (e == nullptr) return Error{Code::kNotFound, "model: it is gone"};
  if (e->state == State::kLoaded && !e->leaving)
    return Error{Code::kInvalid, cat("model: ", name, " is loaded")};
  want(*e);
  return Ok{};
}

Status Models::unload(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Entry* e = find(name);
  if (e == nullptr) return Error{Code::kNotFound, "model: it is gone"};
  if (e->state != State::kLoaded)
    return Error{Code::kInvalid, cat("model: ", name, " is not loaded")};
  e->leaving = true;
  changed_.notify_all();
  return Ok{};
}

void Models::settings_changed() {
  const SettingValues s = options_.settings->get();
  each_loaded(
      [&](Api& api) { api.service.set_max_queue(static_cast<int32_t>(s.max_queue_depth)); });
  const std::lock_guard lock(mutex_);
  for (const auto& e : entries_) e->need = -1;
  changed_.notify_all();
}

std::vector<ModelState> Models::states() const {
  constexpr const char* kNames[] = {"unloaded", "loading", "loaded", "unloading"};
  const std::lock_guard lock(mutex_);
  std::vector<ModelState> all;
  for (const auto& e : entries_) {
    ModelState s;
    s.name = e->name;
    s.value = e->leaving    ? "unloading"
              : e->sleeping ? "sleeping"
                            : kNames[static_cast<int>(e->state)];
    s.progress = e->state == State::kLoaded ? 1 : e->permille / 1000.0;
    s.failure = e->failure;
    if (e->hosted) s.bytes = e->hosted->model->bytes();
    s.waiting = static_cast<int32_t>(e->waiting.size());
    s.in_flight = e->leases;
    all.push_back(std::move(s));
  }
  return all;
}

void Models::each_loaded(const std::function<void(Api& api)>& visit) {
  std::vector<std::pair<std::shared_ptr<void>, std::shared_ptr<Hosted>>> held;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& e : entries_)
      if (e->state == State::kLoaded) held.emplace_back(lease(*e, true), e->hosted);
  }
  for (auto& [lease, hosted] : held) {
    visit(hosted->api);
    hosted.reset();
    lease.reset();
  }
}

int32_t Models::in_flight() const {
  const std::lock_guard lock(mutex_);
  int32_t n = 0;
  for (const auto& e : entries_) n += e->leases + static_cast<int32_t>(e->waiting.size());
  return n;
}

Status Models::integrity() const {
  const std::lock_guard lock(mutex_);
  if (!integrity_) return integrity_;
  for (const auto& e : entries_)
    if (e->hosted) TRY_OK(e->hosted->service.integrity());
  return Ok{};
}

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
  return false;
}

// ---- the loader's thread

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
  lock.unlock();
  log_info("model_loading", {{"model", name}, {"bytes", need}});
  auto opened = source_->open(name, most, [&e](int64_t done, int64_t total) {
    e.permille = static_cast<int>(total > 0 ? done * 1000 / total : 0);
  });
  lock.lock();
  if (opened) return loaded(lock, e, std::move(*opened));
  e.state = State::kUnloaded;
  // Memory that others took meanwhile: one model of ours makes room, if there is one.
  Entry* other = least_used(e);
  if (opened.error().code != Code::kExhausted || other == nullptr)
    return failed(lock, e, opened.error());
  other->leaving = true;
}

void Models::loaded(Lock& lock, Entry& e, std::unique_ptr<RunningModel> model) {
  const auto queue = static_cast<int32_t>(options_.settings->get().max_queue_depth);
  e.hosted = std::make_shared<Hosted>(std::move(model), options_, queue);
  e.hosted->api.draining = draining_;
  e.state = State::kLoaded;
  e.failure.clear();
  e.used = Clock::now();
  e.wanted = 0;
  log_info("model_loaded", {{"model", e.name.name}, {"bytes", e.hosted->model->bytes()}});
  answer_waiting(lock, e);
}

void Models::failed(Lock& lock, Entry& e, const Error& why) {
  e.failure = why.message;
  e.wanted = 0;
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
  lock.unlock();
  hosted->service.stop();
  Status sound = hosted->service.integrity();
  hosted.reset();
  lock.lock();
  if (!sound && integrity_) integrity_ = std::move(sound);
  e.state = State::kUnloaded;
  if (!e.waiting.empty()) want(e);
  log_info("model_unloaded", {{"model", e.name.name}, {"sleeps", e.sleeping}});
}

// ---- beginning and end

Status Models::load_first(const std::string& name) {
  TRY(auto opened, source_->open(name, share(), {}));
  Lock lock(mutex_);
  Entry* e = find(name);
  CHECK(e != nullptr);
  loaded(lock, *e, std::move(opened));
  return Ok{};
}

void Models::drain() {
  std::deque<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (const auto& e : entries_)
      if (e->hosted) e->hosted->api.draining = true;
    waiting = take_all_waiting();
  }
  refuse(waiting, kShuttingDown);
}

void Models::stop() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // Nothing is loaded or unloaded any more.
  std::vector<std::shared_ptr<Hosted>> hosted;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& e : entries_)
      if (e->hosted) hosted.push_back(e->hosted);
  }
  for (const auto& h : hosted) h->service.stop();
}

}  // namespace mlxcel::server
