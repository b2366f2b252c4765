// What the routes share: the model, the engine's queue, options, metrics, and who is being served.
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
#include "server/stores.h"

namespace mlxcel::server {

class Metrics;

struct ServedModel {
  std::string name;                  // what /v1/models lists
  std::vector<std::string> aliases;  // further names that requests may use
  const ChatModel* chat = nullptr;
  SamplingParams defaults;  // of a request that says nothing; with the model's end ids
  std::string fingerprint;  // model, version, exactness class
  std::string version;
  int64_t created = 0;     // seconds since 1970
  int32_t context = 0;     // tokens of prompt and answer
  int64_t vocab = 0;       // rows of logits
  int64_t page_bytes = 0;  // of a page in all KV groups

  bool is_named(const std::string& other) const;
};

struct ApiOptions {
  std::vector<std::string> api_keys;  // none: open to all who reach the port
  // Pages that may ask: origins, comma-separated; "localhost" for every page of this machine, "*"
  // for all.
  std::string cors_origins = "localhost";
  text::ReasoningFormat reasoning = text::ReasoningFormat::kDeepseek;  // unless a request says
  std::chrono::seconds request_time{600};  // then a request ends, wherever it is
  int32_t parallel = 1;
  int32_t max_choices = 16;  // n, and prompts of a completion, multiplied
};

// One choice that is waiting or running, for /slots.
struct Activity {
  std::string request_id;
  int32_t prompt_tokens = 0;
  std::atomic<int32_t> generated{0};
  std::chrono::steady_clock::time_point since;
  bool ended = false;  // the Api's
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
  Stores stores;

  // What refuses a request by its head: an origin that may not ask, a missing key.
  std::optional<HttpResponse> admit(const HttpRequest& head) const;
  // Whose stored things a request may see: a digest of its key; "" where no key is asked for.
  std::string owner(const HttpRequest& request) const;
  // Answers one request that was admitted.
  void handle(std::shared_ptr<Exchange> exchange);

  // What was accepted begins; its end may come first, from the engine's thread.
  void begin(std::shared_ptr<Activity> a);
  void end(const std::shared_ptr<Activity>& a);
  std::vector<std::shared_ptr<Activity>> activities() const;

 private:
  bool authorized(const HttpRequest& request) const;
  std::string allowed_origin(const HttpRequest& request) const;
  Headers common_headers(const HttpRequest& request) const;

  std::vector<std::string> key_digests_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Activity>> activities_;
};

}  // namespace mlxcel::server
