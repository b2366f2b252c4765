// gpu_check: one command for a GPU machine. Correctness first (ops against the reference, golden
// logits, equal bits along every axis), then speed beside what the machine's memory can move.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/cuda.h"
#include "base/json.h"
#include "evidence/record.h"
#include "models/family.h"

namespace mlxcel {

struct Report {
  int failures = 0;
  json::object record;          // what is written: one array of results per section
  json::object checks;          // section -> checks that passed
  std::vector<Metric> metrics;  // every repetition of what was timed

  void pass(const char* section, const std::string& what);
  void fail(const char* section, const std::string& what);
  void measure(const char* section, json::object figures, const std::string& line);
};

// A section is one function; each makes its own backend, so that none leans on another.
void check_ops(Report& report);      // conformance against ref, fused = plain
void check_golden(Report& report);   // logits of tests/golden
void check_matmul(Report& report);   // 1 to 512 rows: equal bits
void check_sampler(Report& report);  // kernels/sample's tree, bit for bit
void check_verify(Report& report);   // verify on tiny models and a 1B shape
void bench_kernels(Report& report);
void bench_model(Report& report);
void profile_steps(Report& report);  // only when named: few layers, for a profiler

std::unique_ptr<CudaBackend> open_backend(
    const CudaOptions& options = cuda_options_from_environment(0));

// One step of embedding rows through `body`; outputs on the host.
std::vector<float> run_rows(Backend& backend, std::span<const float> rows, int64_t dim,
                            const std::function<Tensor(Backend&, const Tensor&)>& body);

// A Llama whose weights are made on the device.
struct BigShape {
  const char* name;
  int64_t dim, layers, heads, kv_heads, ffn, vocab;
  CudaBackend::RandomFormat format;
};
struct BigModel {
  std::unique_ptr<Family> family;
  std::vector<std::pair<std::string, Matrix>> matrices;
  int64_t bytes = 0;  // of all matrices but the embedding table
  const Matrix& find(const std::string& name) const;
};
BigModel make_big(const BigShape& shape, CudaBackend& backend);
extern const BigShape kLlama8B, kLlama1B;

}  // namespace mlxcel
