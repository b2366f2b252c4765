// mlxcel bench kernel: one kernel folder beside what this machine's one thread can read and
// multiply at most.
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/bench_scenario.h"
#include "cli/command.h"
#include "cli/kernel_cases.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/bandwidth.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

struct KernelArguments {
  std::string name, isa, record, filter;
  bool cold = false, csv = false;
  int samples = 15;
};

Result<const KernelEntry*> entry(const std::string& name) {
  std::string names;
  for (const KernelEntry& e : kernel_entries()) {
    if (name == e.name) return &e;
    names += cat(names.empty() ? "" : ", ", e.name);
  }
  for (const ScenarioEntry& e : scenario_entries()) names += cat(", ", e.name);
  return Error{Code::kInvalid, cat("bench kernel: expected one of ", names, "; found ", name)};
}

// The cases whose shape contains `filter`; says which code runs, before any number.
Result<std::vector<KernelCase>> cases_of(const KernelEntry& kernel, const std::string& filter) {
  std::vector<KernelCase> cases = kernel.cases();
  std::erase_if(cases,
                [&](const KernelCase& c) { return c.shape.find(filter) == std::string::npos; });
  if (cases.empty()) return Error{Code::kNotFound, cat("--shape: no case contains ", filter)};
  std::string seen;
  for (const KernelCase& c : cases) {
    if (seen.find(c.path + "\n") != std::string::npos) continue;
    seen += c.path + "\n";
    std::printf("# dispatch path: %s\n", c.path.c_str());
  }
  return cases;
}

Result<int> run(const KernelArguments& a) {
  TRY_OK(choose_isa(a.isa));
  for (const ScenarioEntry& s : scenario_entries()) {
    if (a.name == s.name) return run_scenario(s, {a.filter, a.record, a.cold, a.csv, a.samples});
  }
  TRY(const KernelEntry* kernel, entry(a.name));
  RecordParts p;
  p.machine = machine_facts();
  const int64_t cache = last_level_cache_bytes(p.machine);
  const char* mode = a.cold ? "cold" : "warm";
  TRY(const std::vector<KernelCase> cases, cases_of(*kernel, a.filter));
  TRY(ReadBandwidth bandwidth, ReadBandwidth::open(1, cache));
  const double read = bandwidth.measure(), flops = peak_flops();
  std::printf(
      "# memory mode=%s, last-level cache %lld bytes; one thread: read %.1f GB/s, "
      "f32 multiply-add %.1f GFLOP/s\n",
      mode, static_cast<long long>(cache), read * 1e-9, flops * 1e-9);
  std::printf(a.csv ? "shape,path,us,gb_s,share_of_read,gflop_s,share_of_peak,mode,rotation\n"
                    : "%-44s %10s %8s %6s %9s %6s\n",
              "shape", "us", "GB/s", "peak", "GFLOP/s", "peak");
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ContentionWatch watch;
  ProgressLine progress;
  json::array rows;
  int rotation = 1;
  bool all_cold = a.cold;
  for (const KernelCase& c : cases) {
    progress.show("case", std::ssize(rows), std::ssize(cases));
    if (interrupted()) break;
    const KernelTimes t = measure_kernel(c, a.cold, cache, a.samples);
    const double s = median(t.seconds);
    const double gb = static_cast<double>(c.bytes) / s * 1e-9, gf = c.flops / s * 1e-9;
    rotation = std::max(rotation, t.rotation);
    const char* reached = a.cold && !t.cold ? "cached" : mode;
    all_cold = all_cold && t.cold;
    progress.clear();
    if (a.csv) {
      std::printf("\"%s\",%s,%.3f,%.3f,%.3f,%.3f,%.3f,%s,%d\n", c.shape.c_str(), c.path.c_str(),
                  s * 1e6, gb, gb * 1e9 / read, gf, gf * 1e9 / flops, reached, t.rotation);
    } else {
      std::printf("%-44s %10.2f %8.2f %5.0f%% %9.2f %5.0f%%  mode=%s rotation=%d\n",
                  c.shape.c_str(), s * 1e6, gb, gb * 1e11 / read, gf, gf * 1e11 / flops, reached,
                  t.rotation);
    }
    std::fflush(stdout);
    rows.push_back({{"shape", c.shape},
                    {"path", c.path},
                    {"seconds", s},
                    {"gb_s", gb},
                    {"gflop_s", gf},
                    {"mode", reached},
                    {"rotation", t.rotation}});
    p.metrics.push_back({cat(c.shape, " us"), "us", t.seconds});
    for (double& v : p.metrics.back().samples) v *= 1e6;
  }
  p.run.contention = watch.stop();
  if (a.cold && !all_cold)
    std::fprintf(stderr,
                 "note: mode=cached: 64 copies of a small input fit the last-level cache\n");
  if (a.record.empty()) return 0;
  p.kind = "kernel", p.command = command_words(), p.program = program_facts();
  p.run.order = "cases in order", p.run.warmup = "1 sample, not counted";
  p.run.cache_mode = a.cold && !all_cold ? "cold where copies exceed the cache" : mode,
  p.run.rotation = rotation;
  p.results = {{"kernel", a.name},
               {"read_gb_s", read * 1e-9},
               {"peak_gflop_s", flops * 1e-9},
               {"last_level_cache_bytes", cache},
               {"interrupted", interrupted()},
               {"cases", std::move(rows)}};
  TRY(const std::string name, write_record(a.record, make_record(p)));
  std::fprintf(stderr, "record: %s\n", name.c_str());
  return 0;
}

}  // namespace

Run add_bench_kernel(CommandLine& sub) {
  auto a = std::make_shared<KernelArguments>();
  sub.add_option("name", a->name,
                 "A folder of src/kernels, or a scenario: fused_norm_rope, page_gather,\nqmm_gemv, "
                 "gumbel_sampling, rejection_sampling")
      ->required();
  sub.add_option("--isa", a->isa, "Instruction set (default: the best)");
  sub.add_option("--shape", a->filter, "Only cases whose description contains this");
  sub.add_flag("--cold-l2", a->cold, "Inputs out of the last-level cache (default: warm)");
  sub.add_option("--samples", a->samples, "Of each case")->range(3, 10000)->capture_default_str();
  sub.add_flag("--csv", a->csv, "Comma-separated rows");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "A scenario sets two ways against each other: iso_x alone, pipe_x behind a forward that no\n"
      "cache holds. MLXCEL_BENCH_LLC_BYTES sets the size of the last-level cache.\n"
      "Example: mlxcel bench kernel rms_norm --cold-l2");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
