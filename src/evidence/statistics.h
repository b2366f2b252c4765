// What is said about repeated measurements: median, spread, and whether two arms differ by more
// than the same program differs from itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mlxcel {

inline constexpr double kMostSpread = 0.04;     // of the median; more is not publishable
inline constexpr int kLeastSamples = 3;         // fewer have no spread to speak of
inline constexpr double kMostContended = 0.20;  // of the contention samples

// REQUIRES: not empty. The mean of the middle two if the count is even.
double median(std::vector<double> v);
// (largest - smallest) / median.
double spread(std::span<const double> v);
// The q-quantile, linear between order statistics (numpy's default).
double quantile(std::vector<double> v, double q);

struct Comparison {
  double ratio = 1;                      // median over the rounds of other / base
  double null_ratio = 1;                 // the same for base / base
  double low = 1, high = 1;              // the null range: ratios that say nothing
  double ratio_low = 1, ratio_high = 1;  // how far `ratio` varies by chance
  bool resolved = false;                 // `ratio` is outside it
  std::vector<double> pairs;             // other / base, round by round
};

// Ratios round by round; `null` are those of the base against itself in the same rounds.
//
// The null range is symmetric in the logarithm. Its half width is the largest of: how far the
// median of the null ratios is from 1; how far it could be by chance, were each null ratio as
// likely as its inverse; and how far the median of `pairs` varies by chance around itself. "By
// chance": the 99.9 % quantile of 2,000 resamplings, from a fixed seed.
Comparison compare(std::vector<double> pairs, std::span<const double> null);

}  // namespace mlxcel
