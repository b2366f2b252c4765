// Weights as the CPU backend keeps them, and how they get there.
#pragma once

#include "base/buffer.h"
#include "base/result.h"
#include "base/threads.h"
#include "kernels/quant/format.h"
#include "ops/weight.h"

namespace mlxcel {

struct CpuMatrix final : WeightData {
  const quant::Format* format = nullptr;
  Buffer packed;
};

struct CpuVector final : WeightData {
  Buffer values;  // floats
};

inline const CpuMatrix& cpu(const Matrix& m) { return static_cast<const CpuMatrix&>(*m.data); }
inline const float* cpu(const Vector& v) {
  return static_cast<const CpuVector&>(*v.data).values.as<float>();
}

// The packed format for a source; an Error that names the weight if there is none.
Result<const quant::Format*> format_of(const WeightSource& source);

// The source's rows, in the published order. REQUIRES: the source outlives it.
quant::PackSource pack_source(const WeightSource& source);

Result<Matrix> pack_matrix(const WeightSource& source, ThreadTeam& team);
Result<Vector> load_vector(const WeightSource& source);

}  // namespace mlxcel
