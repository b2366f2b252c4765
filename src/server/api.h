// What the routes of one model share: the model, the engine's queue, options, metrics, and who is
// being served. router.h finds the model of a request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "chat/message_stream.h"
#include "engine/service.h"
#include "server/errors.h"
#include "server/fields.h"
#include "server/http.h"
#include "server/settings.h"
#include "server/stores.h"

namespace mlxcel::server {

class Metrics;

struct ServedModel {
  std::string name;                  // what /v1/models lists
  std::vector<std::string> aliases;  // further names that requests may use
  const ChatModel* chat = nullptr;
  SamplingParams defaults;  // of a request that says nothing, beneath the settings; with end ids
  std::string fingerprint;  // model, version, exactness class
  std::string version;
  int64_t created = 0;     // seconds since 1970
  int32_t context = 0;     // tokens of prompt and answer
  int64_t vocab = 0;       // rows of logits
  int64_t page_bytes = 0;  // of a page in all KV groups

  bool is_named(const std::string& other) const;
};

struct ApiOptions {
  std::shared_ptr<Settings> settings;                                  // never null
  std::shared_ptr<Stores> stores;                                      // never null
  text::ReasoningFormat reasoning = text::ReasoningFormat::kDeepseek;  // unless a request says
  int32_t parallel = 1;
  int32_t max_choices = 16;  // n, and prompts of a completion, multiplied
  std::string slot_folder;   // where slots are saved; "": nowhere
  bool autoload = true;      // a request loads the model that it names
  json::object variables;    // of chat templates, unless a request says
};

// One choice that is waiting or running, for /slots. It has the lowest number that is free: those
// below `parallel` are slots, and remember their last tokens.
struct Activity {
  std::string request_id;
  int32_t prompt_tokens = 0;
  std::atomic<int32_t> generated{0};
  std::chrono::steady_clock::time_point since;
  std::vector<int32_t> tokens;  // prompt and answer, if slots can be saved; the engine's thread's
  int32_t slot = 0;             // the Api's, like `ended`
  bool ended = false;
};

class Api {
 public:
  Api(const ServedModel& m, const ApiOptions& o, Service& s);
  ~Api();

  const ServedModel& model;
  const ApiOptions options;
  Service& service;
  const std::unique_ptr<Metrics> metrics;
  std::atomic<bool> draining = false;
  Stores& stores;

  // Of a request that says nothing: the model's, and the settings on top.
  SamplingParams defaults() const;
  // What was accepted begins; its end may come first, from the engine's thread.
  void begin(std::shared_ptr<Activity> a);
  void end(const std::shared_ptr<Activity>& a);
  std::vector<std::shared_ptr<Activity>> activities() const;
  // What the last request in an idle slot was made of; none while one is answered there.
  std::optional<std::vector<int32_t>> slot_tokens(int32_t slot) const;
  void set_slot_tokens(int32_t slot, std::vector<int32_t> tokens);

  std::mutex slot_files;  // one is written or read at a time

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Activity>> activities_;
  std::map<int32_t, std::vector<int32_t>> slot_tokens_;
};

}  // namespace mlxcel::server
