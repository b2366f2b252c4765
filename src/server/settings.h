// What may change while the server runs, typed: /v1/settings reads and writes it, flags give the
// first values. Each change is checked as a whole before any of it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "sampling/params.h"

namespace mlxcel::server {

struct SettingValues {
  // Of requests that do not say; none: generation_config.json's, then OpenAI's.
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<double> presence_penalty, frequency_penalty;
  std::optional<int64_t> top_k, repeat_last_n, max_tokens;
  int64_t request_timeout = 600;  // seconds; then a request ends, wherever it is
  int64_t max_queue_depth = 32;   // requests that may wait, of each model
  int64_t models_max = 4;         // loaded at once; 0: any number
  int64_t models_memory = 0;      // bytes that all of them may take; 0: what was free at the start
  int64_t sleep_idle_seconds = -1;  // a model that nobody asks for so long is unloaded; -1: never

  void apply(SamplingParams& p) const;
};

class Settings {
 public:
  explicit Settings(const SettingValues& first) : first_(first), now_(first) {}

  SettingValues get() const;
  // {"temperature": 0.5, "max_queue_depth": null}: null brings back the first value. An Error that
  // begins with a name if one is unknown or out of range; then nothing changes.
  Status change(const json::object& wanted);
  json::object describe() const;

  // Called after a change, without a lock; set before the server listens.
  std::function<void()> on_change;

 private:
  const SettingValues first_;
  mutable std::mutex mutex_;
  SettingValues now_;
};

// Whether the values make sense together; the message names one.
Status check(const SettingValues& values);

}  // namespace mlxcel::server
