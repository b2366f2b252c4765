// Perplexity: how well a model predicts given tokens. Teacher-forced: the ids are cut into windows,
// each a sequence of its own from position 0; every position of a window but its first is scored.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "evidence/host.h"

namespace mlxcel {

struct PerplexityOptions {
  int window = 512;
  int chunk = 0;  // rows of a step; 0: as many as fit
  int most = 0;   // windows; 0: all whole ones, or the one that is shorter
};

struct PerplexityResult {
  int64_t windows = 0;
  std::vector<double> nll;  // [windows * (window - 1)]: minus the natural logarithm of probability

  double mean() const;
  double perplexity() const;
};

// `on_window` hears how many of how many windows are done; false stops, and those count.
Result<PerplexityResult> measure_perplexity(
    MeasuredModel& model, std::span<const int32_t> ids, const PerplexityOptions& options,
    const std::function<bool(int64_t done, int64_t total, double perplexity)>& on_window = {});

// Minus the logarithm of the probability of `id`, in double precision.
double negative_log_likelihood(std::span<const float> logits, int32_t id);

}  // namespace mlxcel
