// Inputs for kernels under measurement: aligned copies, filled with numbers of the size that
// activations have.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace mlxcel {

// Aligned memory whose copies lie one after the other.
template <class T>
class Copies {
 public:
  Copies(int copies, int64_t elements) : stride_((elements + 63) / 64 * 64) {
    memory_.resize(static_cast<size_t>(stride_ * copies) + kSlack);
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    base_ = memory_.data() + (64 - at % 64) % 64 / sizeof(T);
  }
  T* at(int copy) { return base_ + copy * stride_; }
  std::vector<T>& all() { return memory_; }

 private:
  static constexpr size_t kSlack = 4096;  // for alignment, and whole vectors past the end

  int64_t stride_;
  std::vector<T> memory_;
  T* base_;
};

inline std::shared_ptr<Copies<float>> normal_floats(int copies, int64_t elements) {
  auto c = std::make_shared<Copies<float>>(copies, elements);
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  std::vector<float> some(4096);
  for (float& x : some) x = normal(rng);
  for (size_t i = 0; i < c->all().size(); i++) c->all()[i] = some[(i ^ i >> 12) & 4095];
  return c;
}

}  // namespace mlxcel
