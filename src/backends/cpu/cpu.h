// The CPU backend: packed weights, int8 activations, paged KV, one team of threads.
//
// Exactness: kernels fix the tree of every output; this folder only divides outputs, rows and heads
// among threads.
#pragma once

#include <memory>

#include "backends/cpu/fused_defaults.h"
#include "kernels/attention/attention.h"
#include "ops/backend.h"

namespace mlxcel {

struct CpuOptions {
  int threads = 0;                 // 0: what this process may use
  bool float_activations = false;  // MLXCEL_CPU_ACT=f32: activations are not rounded to int8
  KvType kv = KvType::kF16;        // MLXCEL_CPU_KV: f16, bf16 or int8
  bool fused_rope_append = kFusedRopeAppendDefault;  // MLXCEL_FUSED_ROPE_APPEND: 0 or 1
};

// Options as the environment sets them.
Result<CpuOptions> cpu_options_from_environment();

class CpuBackend : public Backend {
 public:
  // Not during a step.
  virtual void set_threads(int threads) = 0;
};

// An Error if this CPU lacks what the kernels need.
Result<std::unique_ptr<CpuBackend>> make_cpu_backend(const CpuOptions& options);

}  // namespace mlxcel
