// bench decode and bench peer over a folder of models, or over one, into a table with a note.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "evidence/csv.h"
#include "evidence/sweep.h"

namespace mlxcel {

struct SweepArguments {
  std::string what;  // "all", or a model
  std::string models_dir, output = "benchmarks";
  std::string command = "bench decode", flags;  // of each model's own process
  std::string
      harness;  // what the table's name begins with; "": the backend that runs the first model
  double cooldown_s = 0, big_cooldown_s = 0;
  bool no_dedup = false, vlm = false, replace = false;
};

void add_sweep_arguments(CommandLine& sub, SweepArguments& a);
// Measures each model in a process of its own: `command` of this program.
Result<int> run_sweep_command(const SweepArguments& a);
// The same plan, refusals, table and note around another way of measuring.
Result<int> run_sweep_table(const SweepArguments& a, TableKind kind,
                            const decltype(SweepHooks::measure)& measure);

}  // namespace mlxcel
