// What a verify round costs: cost = a + b K, in steps of plain decode, over the width K of its
// block.
//
// A round pays if it emits more tokens than it costs in plain steps, so the cost is also the number
// of emitted tokens to break even. The fixed part and the slope belong to a machine and a model;
// carrying them to others misleads.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

struct WidthPoint {
  int width = 0;
  double step_s = 0;  // one forward of `width` rows
  double spread = 0;  // of its repetitions
};

struct WidthCost {
  int width = 0;
  double cost = 0, fitted = 0, residual = 0;  // in plain steps; residual = cost - fitted
};

struct CostModel {
  double a = 0, b = 0;
  double largest_residual = 0;
  double plain_step_s = 0;
  std::vector<WidthCost> widths;  // without the plain step's

  double break_even(int width) const { return a + b * width; }
};

// Least squares over the widths above 1. `points` holds width 1: the plain step. Refuses fewer than
// three widths above it, and a lever too short to tell slope from intercept: the largest must be
// more than twice the smallest.
Result<CostModel> fit_cost(const std::vector<WidthPoint>& points);

std::string cost_text(const CostModel& m, const std::vector<WidthPoint>& points);
json::object cost_json(const CostModel& m);

}  // namespace mlxcel
