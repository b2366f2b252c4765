// The memory that a model would take, for people and for scripts.
#pragma once

#include "base/json.h"
#include "cli/open_model.h"

namespace mlxcel {

json::object budget_json(const Budget& budget);
void print_budget(const Budget& budget);

// --estimate-memory: prints the budget on standard output; exit status 0 if it fits, else 1.
Result<int> estimate_memory(const Checkpoint& checkpoint, const OpenOptions& options,
                            const EngineOptions& engine, bool as_json);

// What was loaded, where, and how long it took: on stderr, for --verbose.
void print_loaded(const OpenModel& model, double seconds);

}  // namespace mlxcel
