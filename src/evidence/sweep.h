// bench decode all: every model of a folder, one after the other, each in a process of its own.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "evidence/model_store.h"
#include "evidence/record.h"
#include "evidence/table.h"

namespace mlxcel {

struct SweepOptions {
  bool dedup = true;
  double cooldown_s = 0;       // before each model
  double big_cooldown_s = 0;   // instead, before and after a model of more than kBigModel bytes
  int64_t memory_bytes = 0;    // of this machine or container
  double memory_factor = 1;    // BENCH_MEM_OVERHEAD_FACTOR: weights times this must fit into ...
  std::set<std::string> last;  // models that failed before: they may take the machine with them
};

inline constexpr double kMemoryShare = 0.85;  // ... this share of the memory
inline constexpr int64_t kBigModel = int64_t{16} << 30;

struct SweepEntry {
  FoundModel model;
  std::string skip;  // "SKIP:duplicate_of=x", "SKIP:oom_estimate"; "": to be measured
};

// In the order of measuring: skipped ones first, those of `last` at the end.
std::vector<SweepEntry> plan_sweep(std::vector<FoundModel> models, const SweepOptions& options);

// Models whose newest row in the tables of this host is a failure.
std::set<std::string> failed_before(std::span<const BenchTable> tables,
                                    const std::string& hardware);

struct SweepRow {
  std::string model;
  std::string status;   // "ok", "NOT_PUBLISHABLE", "SKIP:...", "FAIL:bench"
  std::string reason;   // of a failure
  json::object record;  // empty without a measurement
};

struct SweepHooks {
  // Its records: one, or one for each load of a server.
  std::function<Result<std::vector<json::object>>(const FoundModel&)> measure;
  std::function<Status(const SweepRow&)> on_row;  // at once, so that it is kept
  std::function<void(const std::string& line)> on_progress;
  std::function<void(double seconds)> rest;
  std::function<bool()> interrupted;
};

struct SweepResult {
  std::vector<SweepRow> rows;
  std::vector<std::string> not_reached;  // after an interruption
};

// A model that cannot be measured gets FAIL:bench and the sweep goes on; an Error of on_row ends
// it.
Result<SweepResult> run_sweep(const std::vector<SweepEntry>& plan, const SweepOptions& options,
                              const SweepHooks& hooks);

// The note beside a table: method, order, exclusions, failures.
std::string sweep_note(const std::string& table, const SweepResult& result,
                       const SweepOptions& options, const std::string& command,
                       const MachineFacts& machine, const ProgramFacts& program);

std::string minutes_text(double seconds);  // "2:05"

}  // namespace mlxcel
