// The CUDA backend: weights as tensor-core operands, bf16 KV pages, f32 between ops.
//
// Exactness: kernels fix the tree of every output by the weight's shape and by absolute positions.
// A step's launches are recorded as plain structs and run when the step ends, or earlier if the
// host reads; a recording that was seen before is replayed as one CUDA graph.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/backend.h"

namespace mlxcel {

struct CudaOptions {
  int device = 0;
  bool graphs = true;       // MLXCEL_CUDA_GRAPH=0: launch one by one
  bool share_parts = true;  // MLXCEL_CUDA_SHARE_PARTS=0: a block adds all parts of its outputs
  // Fused ops run as their plain definitions instead. MLXCEL_FUSED_NORM=0 (norm and product),
  // _LINEARS, _GATED, _LINEAR_ADD, _ROPE_APPEND (also: rope in the kernel of q, k and v).
  bool fused_norm = true;
  bool fused_linears = true, fused_gated = true, fused_linear_add = true, fused_rope_append = true;
};

// Options as the environment sets them.
CudaOptions cuda_options_from_environment(int device);

class CudaBackend : public Backend {
 public:
  enum class RandomFormat { kAffine4, kBF16 };
  // A matrix for speed work, made on the device: uniform with variance near 1 / in.
  virtual Result<Matrix> random_matrix(int64_t out, int64_t in, RandomFormat format,
                                       uint64_t seed) = 0;
  // Between steps.
  virtual void set_options(const CudaOptions& options) = 0;
  // For measurements: runs what was recorded since begin() and gives back microseconds on the
  // device, the median of `times` runs after two to warm up. Results of in-place ops are then
  // wrong.
  virtual double time_recorded(int times) = 0;
  // Starts or stops what a profiler that was told to wait (ncu --profile-from-start off) sees.
  virtual void profile(bool on) = 0;
};

// Whether this build has the backend.
bool has_cuda_backend();
// Devices that could run it; 0 without a driver.
int cuda_devices();

// An Error that says what is missing: the build, a driver, a device, its compute capability.
Result<std::unique_ptr<CudaBackend>> make_cuda_backend(const CudaOptions& options);

}  // namespace mlxcel
