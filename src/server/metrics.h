// Figures for Prometheus: histograms kept here, counters and gauges read from the engine when
// asked. llama.cpp's names where it has one, mlxcel_* otherwise.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "engine/engine.h"

namespace mlxcel::server {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void between_tokens(double seconds);
  void finished(const FinishEvent& e);
  // The text of /metrics.
  std::string text(const EngineStats& stats, int32_t in_flight) const;

 private:
  struct Histograms;
  std::unique_ptr<Histograms> histograms_;
  mutable std::mutex mutex_;  // of the sums
  double prompt_seconds_ = 0, predicted_seconds_ = 0;
};

}  // namespace mlxcel::server
