#include "cli/memory_report.h"

#include <cstdio>

#include "hub/store.h"

namespace mlxcel {
namespace {

void line(const char* what, int64_t bytes, const char* note = "") {
  std::printf("  %-14s %9s%s\n", what, readable_size(bytes).c_str(), note);
}

}  // namespace

json::object budget_json(const Budget& b) {
  return {{"context", b.plan.options.context},
          {"batch", b.plan.options.max_sequences},
          {"weights_bytes", b.plan.weights},
          {"kv_bytes_total", b.plan.kv},
          {"activation_bytes", b.plan.arena},
          {"total_bytes", b.plan.total()},
          {"available_bytes", b.available},
          {"budget_bytes", b.usable()},
          {"headroom_bytes", b.usable() - b.plan.total()},
          {"fits", b.fits()}};
}

void print_budget(const Budget& b) {
  std::printf("Memory for %d x %d tokens\n", b.plan.options.max_sequences, b.plan.options.context);
  line("weights", b.plan.weights);
  line("KV cache", b.plan.kv);
  line("activations", b.plan.arena);
  line("together", b.plan.total());
  line("may take", b.usable(), "  (nine tenths of what is available)");
  std::printf(b.fits() ? "It fits.\n" : "It does not fit.\n");
}

void print_loaded(const OpenModel& m, double seconds) {
  const BackendInfo info = m.backend->info();
  std::fprintf(stderr,
               "[%s | %s, %s, %d threads | weights %s, KV %s | loaded in %.2f s, %.1f GB/s]\n",
               m.checkpoint.path().c_str(), info.device.c_str(), info.isa.c_str(), info.threads,
               readable_size(m.plan.weights).c_str(), readable_size(m.plan.kv).c_str(), seconds,
               static_cast<double>(m.checkpoint.bytes()) / seconds / 1e9);
}

Result<int> estimate_memory(const Checkpoint& checkpoint, const OpenOptions& options,
                            const EngineOptions& engine, bool as_json) {
  TRY(const Budget budget, plan_model(checkpoint, options, engine));
  if (as_json) {
    std::printf("%s\n", json::serialize(budget_json(budget)).c_str());
  } else {
    print_budget(budget);
  }
  return budget.fits() ? 0 : 1;
}

}  // namespace mlxcel
