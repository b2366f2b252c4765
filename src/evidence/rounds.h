// The paired protocol: every arm runs once in every round, so that whatever drifts meets all of
// them; the first arm runs twice, and how it differs from itself is what a difference must exceed.
//
// The order of a round is the arms and "null" from a start that moves by one every second round;
// every second round is the one before it backwards (A B N, N B A, B N A, A N B, ...): for two arms
// ABBA.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "evidence/record.h"
#include "evidence/statistics.h"

namespace mlxcel {

struct RoundsOptions {
  std::vector<std::string> arms;  // names; the first is the base; at least two
  int rounds = 8;
  int repeat = 1;         // runs of an arm in a row, whose median is its figure of a round
  double cooldown_s = 0;  // before each run
};

struct RoundsProgress {
  int done = 0, total = 0;  // runs
  double seconds_left = 0;
};

struct RoundsResult {
  std::vector<std::vector<double>> samples;  // [arms + null][rounds]
  std::vector<std::vector<double>> runs;     // [arms + null][rounds * repeat], as they came
  std::vector<Comparison> comparisons;       // [arms - 1]: arm i + 1 to arm 0
  std::string order;                         // as it ran
  bool interrupted = false;

  std::vector<Metric> metrics(const RoundsOptions& options, const std::string& unit) const;
  json::array to_json(const RoundsOptions& options) const;
  json::object runs_json(const RoundsOptions& options) const;  // name -> runs
};

// The arms of round `round`, where `arms` is the number of arms; `arms` itself is the null arm.
std::vector<int> round_order(int arms, int round);

// `measure(arm)` runs an arm once. One unmeasured run of each comes first. `on_progress` false
// stops: whole rounds count, of which at least three are needed. An Error of `measure` that comes
// with a stop is dropped.
Result<RoundsResult> run_rounds(const RoundsOptions& options,
                                const std::function<Result<double>(int arm)>& measure,
                                const std::function<bool(const RoundsProgress&)>& on_progress = {});

}  // namespace mlxcel
