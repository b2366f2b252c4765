#include "evidence/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/check.h"

namespace mlxcel {
namespace {

constexpr int kResamplings = 2000;
constexpr double kCertain = 0.999;

// How far the median of `logs` gets from 0 when values are drawn with replacement and signs by
// coin: what symmetric noise alone does.
double chance(const std::vector<double>& logs, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<double> medians, drawn(logs.size());
  for (int i = 0; i < kResamplings; i++) {
    for (double& d : drawn) {
      const uint64_t r = rng();
      d = (r & 1 ? 1 : -1) * logs[(r >> 1) % logs.size()];
    }
    medians.push_back(std::abs(median(drawn)));
  }
  return quantile(std::move(medians), kCertain);
}

std::vector<double> logs_of(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double r : ratios) logs.push_back(std::log(r));
  return logs;
}

}  // namespace

double quantile(std::vector<double> v, double q) {
  CHECK(!v.empty());
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, v.size() - 1);
  return v[below] + (at - static_cast<double>(below)) * (v[above] - v[below]);
}

double median(std::vector<double> v) { return quantile(std::move(v), 0.5); }

double spread(std::span<const double> v) {
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  const double middle = median({v.begin(), v.end()});
  return middle == 0 ? 0 : (*high - *low) / std::abs(middle);
}

Comparison compare(std::vector<double> pairs, std::span<const double> null) {
  Comparison c;
  std::vector<double> effect = logs_of(pairs), noise = logs_of(null);
  const double middle = median(effect), null_middle = median(noise);
  for (double& e : effect) e -= middle;
  const double error = chance(effect, 2);
  const double half = std::max({std::abs(null_middle), chance(noise, 1), error});
  c.ratio = std::exp(middle), c.null_ratio = std::exp(null_middle);
  c.low = std::exp(-half), c.high = std::exp(half);
  c.ratio_low = std::exp(middle - error), c.ratio_high = std::exp(middle + error);
  c.resolved = std::abs(middle) > half;
  c.pairs = std::move(pairs);
  return c;
}

}  // namespace mlxcel
