// bench kernel on a scenario: two ways to do one thing, alone and in a pipeline.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/kernel_scenarios.h"

namespace mlxcel {

struct ScenarioOptions {
  std::string filter, record;
  bool cold = false, csv = false;
  int samples = 15;
};

Result<int> run_scenario(const ScenarioEntry& scenario, const ScenarioOptions& options);

}  // namespace mlxcel
