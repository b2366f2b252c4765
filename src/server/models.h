// The models of a server: which are loaded, who waits for one, and which goes when memory is short.
//
// Loading and unloading happen on a thread of their own, one at a time; loaded models answer
// meanwhile, each on its own engine's thread. A request holds its model with a lease, so that a
// model goes only when nobody needs it. A model whose place another one needs takes no new
// requests: they wait until it is loaded again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/api.h"

namespace mlxcel::server {

// An open model: what it says about itself, and the engine that runs it.
class RunningModel {
 public:
  virtual ~RunningModel() = default;
  virtual const ServedModel& served() const = 0;
  virtual Engine& engine() = 0;
  virtual int64_t bytes() const = 0;  // that it takes
};

struct ModelName {
  std::string name;                  // what /v1/models lists
  std::vector<std::string> aliases;  // further names that requests may use
};

// Where models come from. All methods but names() are called by one thread at a time.
class ModelSource {
 public:
  using Progress = std::function<void(int64_t done, int64_t total)>;

  virtual ~ModelSource() = default;
  virtual std::vector<ModelName> names() = 0;  // that there are now
  virtual bool many() const = 0;               // false: one, loaded before the server listens
  virtual int64_t memory() const = 0;          // bytes that all models may take together
  // Bytes that a model will take, which keeps within `most` (0: whatever is free).
  virtual Result<int64_t> bytes(const std::string& name, int64_t most) = 0;
  virtual Result<std::unique_ptr<RunningModel>> open(const std::string& name, int64_t most,
                                                     const Progress& progress) = 0;
};

using ModelHandler = void (*)(Api& api, std::shared_ptr<Exchange> exchange);

// What /models shows.
struct ModelState {
  ModelName name;
  const char* value = "";  // unloaded, loading, loaded, unloading, sleeping
  double progress = 0;     // of loading, to 1
  std::string failure;     // of the last load; "": none
  int64_t bytes = 0;       // that it takes now
  int32_t waiting = 0, in_flight = 0;
};

class Models {
 public:
  Models(std::unique_ptr<ModelSource> source, const ApiOptions& options);
  ~Models();  // cancels what still runs
  Models(const Models&) = delete;

  // Loads a model now: before the server listens.
  Status load_first(const std::string& name);
  void start() {
    thread_ = std::thread([this] { loop(); });
  }

  bool many() const { return source_->many(); }
  // The listed name that `name` means; "" means the only one. kNotFound, with the names there are.
  Result<std::string> resolve(const std::string& name) const;
  // Runs `handler` with the model, which is loaded first if `may_load` and if options.autoload.
  // REQUIRES: a listed name
  void dispatch(const std::string& name, ModelHandler handler, std::shared_ptr<Exchange> exchange,
                bool may_load);
  // Orders, as the routes give them. They return at once.
  Status load(const std::string& name);
  Status unload(const std::string& name);
  void rescan();            // finds models that came, forgets unloaded ones that went
  void settings_changed();  // of options.settings

  std::vector<ModelState> states() const;
  // Sends the state of every model, and then each change, until the watcher leaves or all ends.
  void watch(std::shared_ptr<Exchange> watcher);
  // Calls `visit` for every loaded model; they stay loaded meanwhile.
  void each_loaded(const std::function<void(Api& api)>& visit);

  void drain();  // refuses requests from now on
  int32_t in_flight() const;
  void stop();               // ends everything
  Status integrity() const;  // of all that are or were loaded

 private:
  struct Hosted {
    explicit Hosted(std::unique_ptr<RunningModel> m, const ApiOptions& options,
                    const ServiceOptions& queue)
        : model(std::move(m)),
          service(model->engine(), queue),
          api(model->served(), options, service) {}
    std::unique_ptr<RunningModel> model;
    Service service;
    Api api;
  };
  struct Waiting {
    ModelHandler handler;
    std::shared_ptr<Exchange> exchange;
  };
  enum class State { kUnloaded, kLoading, kLoaded, kUnloading };
  struct Entry {
    ModelName name;
    State state = State::kUnloaded;
    bool leaving = false;   // loaded, takes no new requests, goes when nobody holds it
    bool sleeping = false;  // unloaded because nobody asked
    std::string failure;
    std::string told;  // the state that watchers know
    std::atomic<int> permille = 0;
    std::shared_ptr<Hosted> hosted;
    int32_t leases = 0;
    uint64_t wanted = 0;  // when it was first asked for since; 0: not wanted
    int64_t need = -1;    // bytes that loading it will take; below 0: not counted yet
    int64_t most = 0;     // that it may take then
    Clock::time_point used;
    std::deque<Waiting> waiting;
  };

  Entry* find(const std::string& name) const;
  // Whoever only looks does not keep a model from sleeping.
  std::shared_ptr<void> lease(Entry& e, bool looks);
  void want(Entry& e);
  static const char* state_of(const Entry& e);
  // With the lock: tells the watchers what is not as they know it.
  void tell();
  void tell(const Entry& e, std::string_view event);

  // The loader's thread, in models_loader.cc. All are called with the lock, which they may leave
  // and take again.
  using Lock = std::unique_lock<std::mutex>;
  void loop();
  bool work(Lock& lock);  // one thing that is to be done; false: nothing
  void put_idle_to_sleep();
  Clock::time_point next_sleep() const;
  void bring(Lock& lock, Entry& e);
  Status count(Lock& lock, Entry& e);
  void loaded(Lock& lock, Entry& e, std::unique_ptr<RunningModel> model);
  void failed(Lock& lock, Entry& e, const Error& why);
  bool make_room(const Entry& e);
  Entry* least_used(const Entry& except) const;
  void retire(Lock& lock, Entry& e);
  void answer_waiting(Lock& lock, Entry& e);
  // Without the lock.
  static void refuse(const std::deque<Waiting>& waiting, const ApiError& error);
  std::deque<Waiting> take_all_waiting();
  int64_t budget() const;
  int64_t share() const;

  const std::unique_ptr<ModelSource> source_;
  const ApiOptions options_;
  const int64_t memory_;  // the source's, when nothing was loaded

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::shared_ptr<Exchange>> watchers_;
  const std::shared_ptr<Turns> turns_;  // of all engines, if there may be several
  uint64_t wanted_count_ = 0;
  bool draining_ = false, stop_ = false;
  Status integrity_ = Ok{};
  std::thread thread_;
};

}  // namespace mlxcel::server
