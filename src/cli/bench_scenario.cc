#include "cli/bench_scenario.h"

#include <cstdio>
#include <set>

#include "base/cat.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

// Which code each arm runs, before any number.
Status tell_paths(const std::vector<ScenarioCase>& cases) {
  std::set<std::string> told;
  for (const ScenarioCase& c : cases) {
    TRY_OK(check_two_paths(c.base, c.arm));
    const std::string line = cat("# base: ", c.base.path, "  arm: ", c.arm.path);
    if (told.insert(line).second) std::printf("%s\n", line.c_str());
  }
  return Ok{};
}

std::string verdict_of(const ScenarioCase& c) {
  if (!c.equal) return "not comparable";
  return c.equal() ? "equal" : "DIFFER";
}

}  // namespace

Result<int> run_scenario(const ScenarioEntry& scenario, const ScenarioOptions& o) {
  RecordParts p;
  p.machine = machine_facts();
  const int64_t cache = last_level_cache_bytes(p.machine);
  const char* mode = o.cold ? "cold" : "warm";
  std::vector<ScenarioCase> cases = scenario.cases();
  std::erase_if(cases, [&](const ScenarioCase& c) {
    return c.arm.shape.find(o.filter) == std::string::npos;
  });
  if (cases.empty()) return Error{Code::kNotFound, cat("--shape: no case contains ", o.filter)};
  TRY_OK(tell_paths(cases));
  const auto forward = decode_forward(cache);
  std::printf("# %s: memory mode=%s, last-level cache %lld bytes; x above 1: the arm is faster\n",
              scenario.summary, mode, static_cast<long long>(cache));
  std::printf(o.csv ? "shape,base_us,arm_us,iso_x,pipe_x,outputs,mode,rotation\n"
                    : "%-42s %10s %10s %7s %7s  outputs\n",
              "shape", "base us", "arm us", "iso_x", "pipe_x");
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ContentionWatch watch;
  ProgressLine progress;
  json::array rows;
  int rotation = 1;
  bool differ = false;
  for (const ScenarioCase& c : cases) {
    progress.show("case", std::ssize(rows), std::ssize(cases));
    if (interrupted()) break;
    const std::string outputs = verdict_of(c);
    differ |= outputs == "DIFFER";
    const ScenarioTimes t = measure_scenario(c.base, c.arm, forward, o.cold, cache, o.samples);
    rotation = std::max(rotation, t.rotation);
    const double base = 1e6 * median(t.iso_base), arm = 1e6 * median(t.iso_arm);
    progress.clear();
    std::printf(o.csv ? "\"%s\",%.3f,%.3f,%.4f,%.4f,%s,%s,%d\n"
                      : "%-42s %10.2f %10.2f %7.3f %7.3f  %s  mode=%s rotation=%d\n",
                c.arm.shape.c_str(), base, arm, t.iso_x(), t.pipe_x(), outputs.c_str(), mode,
                t.rotation);
    std::fflush(stdout);
    rows.push_back({{"shape", c.arm.shape},
                    {"base_path", c.base.path},
                    {"arm_path", c.arm.path},
                    {"base_us", base},
                    {"arm_us", arm},
                    {"iso_x", t.iso_x()},
                    {"pipe_x", t.pipe_x()},
                    {"outputs", outputs},
                    {"rotation", t.rotation}});
    Metric iso = {cat(c.arm.shape, " iso_x"), "x", {}};
    for (size_t i = 0; i < t.iso_base.size(); i++)
      iso.samples.push_back(t.iso_base[i] / t.iso_arm[i]);
    iso.steady = false;  // a ratio of pairs is judged by its median
    p.metrics.push_back(std::move(iso));
  }
  p.run.contention = watch.stop();
  if (!o.record.empty()) {
    p.kind = "scenario", p.command = command_words(), p.program = program_facts();
    p.run.order = "cases in order; base and arm in turns (ABBA)", p.run.warmup = "not counted";
    p.run.cache_mode = mode, p.run.rotation = rotation;
    p.results = {{"scenario", scenario.name},
                 {"last_level_cache_bytes", cache},
                 {"interrupted", interrupted()},
                 {"cases", std::move(rows)}};
    TRY(const std::string name, write_record(o.record, make_record(p)));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return differ ? 1 : 0;
}

}  // namespace mlxcel
