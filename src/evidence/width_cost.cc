#include "evidence/width_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/cat.h"

namespace mlxcel {

Result<CostModel> fit_cost(const std::vector<WidthPoint>& points) {
  CostModel m;
  for (const WidthPoint& p : points) {
    if (!(p.step_s > 0)) return Error{Code::kInvalid, "cost: expected times above 0"};
    if (p.width == 1) m.plain_step_s = p.step_s;
  }
  if (m.plain_step_s == 0)
    return Error{Code::kInvalid, "cost: expected a measurement of width 1, found none"};
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  int smallest = 0, largest = 0;
  for (const WidthPoint& p : points) {
    if (p.width == 1) continue;
    const double cost = p.step_s / m.plain_step_s;
    m.widths.push_back({p.width, cost});
    smallest = smallest == 0 ? p.width : std::min(smallest, p.width);
    largest = std::max(largest, p.width);
    n += 1, x += p.width, y += cost, xx += p.width * p.width, xy += p.width * cost;
  }
  if (n < 3 || largest <= 2 * smallest) {
    return Error{Code::kInvalid,
                 cat("cost: expected at least three widths above 1, the largest more "
                     "than twice the smallest, found ",
                     n, " from ", smallest, " to ", largest,
                     ": too short a lever to tell slope from intercept")};
  }
  m.b = (n * xy - x * y) / (n * xx - x * x);
  m.a = (y - m.b * x) / n;
  for (WidthCost& w : m.widths) {
    w.fitted = m.break_even(w.width), w.residual = w.cost - w.fitted;
    m.largest_residual = std::max(m.largest_residual, std::abs(w.residual));
  }
  return m;
}

std::string cost_text(const CostModel& m, const std::vector<WidthPoint>& points) {
  std::string out = "width      ms a round  spread   cost in plain steps   fitted  residual\n";
  const auto add = [&](const char* format, auto... values) {
    char line[160];
    std::snprintf(line, sizeof line, format, values...);
    out += line;
  };
  for (const WidthPoint& p : points) {
    const auto w = std::find_if(m.widths.begin(), m.widths.end(),
                                [&](const WidthCost& c) { return c.width == p.width; });
    add("%5d %15.3f %6.1f%%", p.width, 1e3 * p.step_s, 100 * p.spread);
    if (w == m.widths.end()) {
      add("%22.3f   (plain decode)\n", 1.0);
    } else {
      add("%22.3f %8.3f %+9.3f\n", w->cost, w->fitted, w->residual);
    }
  }
  add("cost = %.3f + %.4f K plain steps, largest residual %.3f\n", m.a, m.b, m.largest_residual);
  for (const WidthCost& w : m.widths)
    add("a round of width %d must emit more than %.2f tokens to pay\n", w.width, w.cost);
  return out;
}

json::object cost_json(const CostModel& m) {
  json::array widths;
  for (const WidthCost& w : m.widths) {
    widths.push_back({{"width", w.width},
                      {"cost", w.cost},
                      {"fitted", w.fitted},
                      {"residual", w.residual},
                      {"break_even_emitted", w.cost}});
  }
  return {{"a", m.a},
          {"b", m.b},
          {"largest_residual", m.largest_residual},
          {"plain_step_s", m.plain_step_s},
          {"widths", std::move(widths)}};
}

}  // namespace mlxcel
