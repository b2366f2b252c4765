// The dry backend: runs a model's ops without data. It checks shapes and counts FLOPs, bytes and
// arena elements, so that memory can be planned before anything is loaded and the scheduler can be
// tested by the million steps.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace mlxcel {

struct DryCounts {
  int64_t ops = 0;
  int64_t flops = 0;         // multiplies and adds of matmuls and attention
  int64_t weight_bytes = 0;  // read, each weight once an op
  int64_t kv_bytes = 0;      // read and written, at 2 bytes an element
  int64_t arena_peak = 0;    // elements
};

class DryBackend : public Backend {
 public:
  virtual DryCounts counts() const = 0;  // since construction
};

// Samples are a hash of key and position, below the number of logits.
std::unique_ptr<DryBackend> make_dry_backend();

}  // namespace mlxcel
