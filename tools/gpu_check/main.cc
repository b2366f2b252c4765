// gpu_check [--only SECTION,...] [--out DIR] [--commit SHORT]: exit status 1 if a check failed. With
// --out it leaves a record there (evidence/record.h).
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/cat.h"
#include "gpu_check.h"
#include "ops/device_error.h"

namespace mlxcel {

void Report::pass(const char* section, const std::string& what) {
  std::printf("ok    %-9s %s\n", section, what.c_str());
  std::fflush(stdout);
  json::value& passed = checks[section];
  passed = passed.is_int64() ? passed.as_int64() + 1 : 1;
}
void Report::fail(const char* section, const std::string& what) {
  std::printf("FAIL  %-9s %s\n", section, what.c_str());
  std::fflush(stdout);
  failures++;
}
void Report::measure(const char* section, json::object figures, const std::string& line) {
  std::printf("      %-9s %s\n", section, line.c_str());
  std::fflush(stdout);
  json::value& list = record[section];
  if (!list.is_array()) list = json::array();
  list.as_array().push_back(std::move(figures));
}

namespace {

struct Section {
  const char* name;
  void (*run)(Report&);
};
constexpr Section kSections[] = {{"matmul", check_matmul}, {"ops", check_ops},
                                 {"golden", check_golden}, {"sampler", check_sampler},
                                 {"verify", check_verify}, {"kernels", bench_kernels},
                                 {"model", bench_model},   {"profile", profile_steps}};

// A record of the run; its file's name.
Result<std::string> write(Report& report, const std::vector<std::string>& command,
                          const std::string& out, const std::string& commit) {
  RecordParts p;
  p.kind = "gpu-check", p.command = command, p.machine = machine_facts();
  p.program.version = "0.1.0", p.program.commit = commit;
  p.program.compiler = cat("GCC ", __VERSION__);
  p.program.toolkit = cat("CUDA ", CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10);
  p.program.sm_target = "90a";
  p.run.order = "one after the other", p.run.warmup = "5 steps, not counted";
  p.run.cache_mode = "weights are larger than the caches";
  p.metrics = report.metrics;
  report.record["checks"] = report.checks;
  p.results = report.record;
  return write_record(out, make_record(p));
}

int run(const std::string& only, const std::string& out, const std::vector<std::string>& command,
        const std::string& commit) {
  auto backend = make_cuda_backend(cuda_options_from_environment(0));
  if (!backend) {
    std::printf("gpu_check: %s\n", backend.error().message.c_str());
    return 1;
  }
  Report report;
  report.record["device"] = (*backend)->info().device;
  std::printf("gpu_check on %s (%s)\n", (*backend)->info().device.c_str(),
              (*backend)->info().isa.c_str());
  backend->reset();
  for (const Section& s : kSections) {
    if (only.empty() && s.run == profile_steps) continue;
    if (!only.empty() &&
        ("," + only + ",").find(std::string(",") + s.name + ",") == std::string::npos)
      continue;
    try {
      s.run(report);
    } catch (const DeviceError& e) {
      report.fail(s.name, e.message);
    }
  }
  report.record["failures"] = report.failures;
  if (!out.empty()) {
    const auto name = write(report, command, out, commit);
    if (!name) report.fail("record", name.error().message);
    if (name) std::printf("record: %s\n", name->c_str());
  }
  std::printf("%d failures\n", report.failures);
  return report.failures != 0;
}

}  // namespace
}  // namespace mlxcel

int main(int argc, char** argv) {
  std::string only, out, commit = "unknown";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--out") == 0) out = argv[i + 1];
    if (std::strcmp(argv[i], "--commit") == 0) commit = argv[i + 1];
  }
  const bool is_hash =
      commit.size() == 8 && commit.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash && commit != "unknown") {  // found now, not when the record is written
    std::printf("--commit: expected 8 hexadecimal digits, found %s\n", commit.c_str());
    return 1;
  }
  return mlxcel::run(only, out, {argv, argv + argc}, commit);
}
