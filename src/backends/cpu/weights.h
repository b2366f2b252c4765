// Weights as the CPU backend keeps them, and how they get there.
#pragma once

#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "base/threads.h"
#include "kernels/quant/format.h"
#include "ops/weight.h"

namespace mlxcel {

// Memory for weights, one after the other, so that small ones lie in huge pages too and none is
// rounded up to one. It lives as long as a weight in it.
class WeightMemory {
 public:
  // Zeroed, 64-byte aligned, Buffer::kSlack bytes readable after it.
  Result<std::shared_ptr<std::byte>> take(int64_t bytes);

 private:
  std::shared_ptr<Buffer> block_;
  int64_t used_ = 0;
};

struct CpuMatrix final : WeightData {
  const quant::Format* format = nullptr;
  std::shared_ptr<std::byte> packed;
};

struct CpuVector final : WeightData {
  std::shared_ptr<float> values;
};

inline const CpuMatrix& cpu(const Matrix& m) { return static_cast<const CpuMatrix&>(*m.data); }
inline const float* cpu(const Vector& v) {
  return static_cast<const CpuVector&>(*v.data).values.get();
}

// The packed format for a source; an Error that names the weight if there is none.
Result<const quant::Format*> format_of(const WeightSource& source);

// The source's rows, in the published order. REQUIRES: the source outlives it.
quant::PackSource pack_source(const WeightSource& source);

Result<Matrix> pack_matrix(const WeightSource& source, ThreadTeam& team, WeightMemory& memory);
Result<Vector> load_vector(const WeightSource& source, WeightMemory& memory);

}  // namespace mlxcel
