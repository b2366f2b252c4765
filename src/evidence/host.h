// What measurements need of the program around them: a loaded model, without its backend.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace mlxcel {

class MeasuredModel {
 public:
  virtual ~MeasuredModel() = default;
  virtual Result<std::unique_ptr<Engine>> open(const EngineOptions& options) = 0;
  virtual int64_t vocab() const = 0;
  virtual int threads() const = 0;
  // Bytes that one step reads whatever its rows: every weight, of the token embedding only rows.
  virtual int64_t weight_bytes_per_step() const = 0;
  // Bytes of KV that one row reads behind `positions` positions.
  virtual int64_t kv_bytes(int64_t positions) const = 0;
};

}  // namespace mlxcel
