#include "backends/cuda/rows.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/elementwise/elementwise_cuda.h"

namespace mlxcel {

void CudaRows::know(int64_t in) { widest_ = std::max(widest_, padded_operand_k(in)); }

Status CudaRows::open(int64_t rows) {
  const int64_t bytes = operand_bytes(std::max<int64_t>(rows, 1), widest_);
  for (CudaMemory& m : memory_) {
    if (m.size() >= bytes) continue;
    m = CudaMemory();
    TRY(m, CudaMemory::make(bytes, "matmul rows"));
  }
  return Ok{};
}

void CudaRows::forget(const Tensor& t) {
  for (Tag& tag : tags_) {
    if (tag.at == t.at) tag = {};
  }
}

Operand CudaRows::describe(int64_t rows, int64_t k, Slot slot) {
  Operand o;
  o.words = memory_[slot].as<uint32_t>();
  o.rows = static_cast<int32_t>(rows), o.k = static_cast<int32_t>(k);
  o.padded_k = static_cast<int32_t>(padded_operand_k(k));
  o.tile = operand_tile(rows);
  CHECK(operand_bytes(rows, k) <= memory_[slot].size());
  return o;
}

Operand CudaRows::copy_of(const Tensor& t, Slot slot) {
  const int64_t rows = t.shape.rows(), k = t.shape.back();
  if (k % kOperandK != 0 || k > widest_ || operand_bytes(rows, k) > memory_[slot].size()) return {};
  tags_[slot] = {t.at, rows, k};
  return describe(rows, k, slot);
}

Operand CudaRows::operand_of(const Tensor& x, const float* data, CudaWork& work) {
  const int64_t rows = x.shape.rows(), k = x.shape.back();
  for (int i = 0; i < kSlots; i++) {
    const Tag& tag = tags_[i];
    if (tag.at == x.at && tag.rows == rows && tag.k == k)
      return describe(rows, k, static_cast<Slot>(i));
  }
  const Operand o = describe(rows, k, kOther);
  tags_[kOther] = {x.at, rows, k};
  work.list().push(cuda_to_operand, CudaToOperand{data, o});
  return o;
}

}  // namespace mlxcel
