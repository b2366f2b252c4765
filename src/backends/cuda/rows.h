// Tensors as the rows of a matmul (kernels/cuda/operand.h). Ops whose results are multiplied next
// write the bf16 copy themselves; it is remembered by the tensor's place until that is written
// again.
#pragma once

#include <array>

#include "backends/cuda/stream.h"
#include "kernels/cuda/operand.h"
#include "ops/tensor.h"

namespace mlxcel {

class CudaRows {
 public:
  enum Slot { kNorm, kAttend, kGated, kOther, kSlots };

  void know(int64_t in);        // a matrix's width
  Status open(int64_t rows);    // memory for steps of so many rows
  void reset() { tags_ = {}; }  // a new step
  void forget(const Tensor& t);

  // Where a kernel that makes t writes its copy; nothing where the width is not a multiple of 64.
  Operand copy_of(const Tensor& t, Slot slot);
  // The copy of x, converted by a launch of its own if no op left one.
  Operand operand_of(const Tensor& x, const float* data, CudaWork& work);

 private:
  struct Tag {
    int64_t at = -1, rows = 0, k = 0;
  };
  Operand describe(int64_t rows, int64_t k, Slot slot);

  int64_t widest_ = 64;
  std::array<CudaMemory, kSlots> memory_;
  std::array<Tag, kSlots> tags_;
};

}  // namespace mlxcel
