// gpu_check [--only SECTION,...] [--out DIR]: exit status 1 if a check failed.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "gpu_check.h"
#include "ops/device_error.h"

namespace mlxcel {

void Report::pass(const char* section, const std::string& what) {
  std::printf("ok    %-9s %s\n", section, what.c_str());
  std::fflush(stdout);
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

int run(const std::string& only, const std::string& out) {
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
  if (!out.empty())
    std::ofstream(out + "/gpu_check.json") << json::serialize(report.record) << "\n";
  std::printf("%d failures\n", report.failures);
  return report.failures != 0;
}

}  // namespace
}  // namespace mlxcel

int main(int argc, char** argv) {
  std::string only, out;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--out") == 0) out = argv[i + 1];
  }
  return mlxcel::run(only, out);
}
