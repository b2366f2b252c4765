// A tensor is a plain value: a shape and a place in the step's arena. Only the backend that made it
// can open it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "base/check.h"

namespace mlxcel {

// Up to four dimensions, outermost first; the last one is contiguous.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    CHECK(dims.size() <= dims_.size());
    for (const int64_t d : dims) dims_[rank_++] = d;
  }

  int rank() const { return rank_; }
  int64_t operator[](int i) const {
    CHECK(i >= 0 && i < rank_);
    return dims_[i];
  }
  int64_t back() const { return (*this)[rank_ - 1]; }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank_; i++) n *= dims_[i];
    return n;
  }
  int64_t rows() const { return size() / back(); }  // all dimensions but the last
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, 4> dims_ = {};
  int rank_ = 0;
};

struct Tensor {
  Shape shape;
  int64_t at = -1;  // element offset in the arena

  // The same elements under another shape of equal size.
  Tensor reshape(Shape to) const {
    CHECK(to.size() == shape.size());
    return {to, at};
  }
};

}  // namespace mlxcel
