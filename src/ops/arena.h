// Where a step's activations live: a bump allocator over element offsets, cut back when a scope
// closes.
//
// Offsets are equal for equal sequences of ops, so addresses are stable from step to step (graph
// capture).
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/tensor.h"

namespace mlxcel {

class Arena {
 public:
  static constexpr int64_t kAlign = 16;  // elements: a cache line of floats

  Tensor allocate(const Shape& shape) {
    const Tensor t = {shape, top_};
    top_ += (shape.size() + kAlign - 1) / kAlign * kAlign;
    peak_ = std::max(peak_, top_);
    return t;
  }
  int64_t mark() const { return top_; }
  void release(int64_t mark) {
    CHECK(mark >= 0 && mark <= top_);
    top_ = mark;
  }
  void reset() { top_ = 0; }
  int64_t peak() const { return peak_; }  // elements, since construction

 private:
  int64_t top_ = 0, peak_ = 0;
};

}  // namespace mlxcel
