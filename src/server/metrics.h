// Figures for Prometheus: histograms kept here, counters and gauges read from the engine when
// asked. llama.cpp's names where it has one, mlxcel_* otherwise.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace prometheus {
struct MetricFamily;
}

namespace mlxcel::server {

// Of the prefix cache, by requests that ran.
struct Lookups {
  uint64_t all = 0, found = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void between_tokens(double seconds);
  void finished(const FinishEvent& e);
  Lookups lookups() const;
  // All figures of one model; with a label that names it, if `model` is not empty.
  std::vector<prometheus::MetricFamily> families(const EngineStats& stats, int32_t in_flight,
                                                 const std::string& model) const;

 private:
  struct Histograms;
  std::unique_ptr<Histograms> histograms_;
  mutable std::mutex mutex_;  // of the sums
  double prompt_seconds_ = 0, predicted_seconds_ = 0;
  Lookups lookups_;
};

// The text of /metrics; families of one name, of several models, become one.
std::string metrics_text(std::vector<prometheus::MetricFamily> families);

}  // namespace mlxcel::server
