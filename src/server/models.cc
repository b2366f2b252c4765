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
    : source_(std::move(source)),
      options_(options),
      memory_(source_->memory()),
      turns_(source_->many() ? std::make_shared<Turns>() : nullptr) {
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
  for (const auto& w : watchers_) w->event(R"({"event":"models_reload","data":{}})");
  tell();
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
    } else if (!may_load || (!options_.autoload && e->wanted == 0)) {
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
  tell();
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

const char* Models::state_of(const Entry& e) {
  constexpr const char* kNames[] = {"unloaded", "loading", "loaded", "unloading"};
  if (e.leaving) return "unloading";
  return e.sleeping ? "sleeping" : kNames[static_cast<int>(e.state)];
}

std::vector<ModelState> Models::states() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelState> all;
  for (const auto& e : entries_) {
    ModelState s;
    s.name = e->name;
    s.value = state_of(*e);
    s.progress = e->state == State::kLoaded ? 1 : e->permille / 1000.0;
    s.failure = e->failure;
    if (e->hosted) s.bytes = e->hosted->model->bytes();
    s.waiting = static_cast<int32_t>(e->waiting.size());
    s.in_flight = e->leases;
    all.push_back(std::move(s));
  }
  return all;
}

// ---- watchers

void Models::watch(std::shared_ptr<Exchange> watcher) {
  const std::lock_guard lock(mutex_);
  watcher->start_events();
  if (draining_) return watcher->end();
  std::erase_if(watchers_, [](const auto& w) { return w->is_gone(); });
  watchers_.push_back(std::move(watcher));
  for (const auto& e : entries_) tell(*e, "model_status");  // those who know it hear it again
}

void Models::tell() {
  std::erase_if(watchers_, [](const auto& w) { return w->is_gone(); });
  for (const auto& e : entries_) {
    const char* now = state_of(*e);
    if (std::exchange(e->told, now) != now) tell(*e, "status_change");
  }
}

// In the words of llama.cpp's router.
void Models::tell(const Entry& e, std::string_view event) {
  if (watchers_.empty()) return;
  json::object data = {{"status", state_of(e)}};
  if (e.state == State::kLoading)
    data["progress"] = json::object{{"stages", json::array{"text_model"}},
                                    {"current", "text_model"},
                                    {"value", e.permille / 1000.0}};
  if (!e.failure.empty()) data["failed"] = true, data["message"] = e.failure;
  const std::string text = json::serialize(
      json::object{{"model", e.name.name}, {"event", event}, {"data", std::move(data)}});
  for (const auto& w : watchers_) w->event(text);
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
    for (const auto& w : watchers_) w->end();
    watchers_.clear();
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
