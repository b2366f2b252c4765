// Matrix products of the CPU backend: activations are quantized once, outputs are divided among
// threads.
#pragma once

#include <algorithm>
#include <span>

#include "backends/cpu/kernel_use.h"
#include "backends/cpu/weights.h"
#include "base/threads.h"

namespace mlxcel {

class CpuLinear {
 public:
  struct Product {
    const Matrix* w = nullptr;
    const float* bias = nullptr;  // [out]; may be null
    float* y = nullptr;           // [rows, out]
  };

  explicit CpuLinear(bool float_activations) : float_activations_(float_activations) {}

  void know(const Matrix& m);    // a matrix that products will use
  Status reserve(int64_t rows);  // memory for steps of so many rows

  // y[i] = W[i] x + bias[i] for x [rows, in]; then after(first, last, i) on the thread that made
  // columns [first, last) of product i, while they are in its cache. `tied`: products have equal
  // shapes, and one thread makes the same columns of all of them.
  template <class After>
  void run(const float* x, int64_t rows, std::span<const Product> products, bool tied,
           ThreadTeam& team, KernelUseCounter& use, After after) {
    prepare(x, rows, products, team, use);
    const auto part = [&](size_t i, int64_t first, int64_t last) {
      multiply(x, rows, products[i], first, last);
      after(first * quant::kBlock, std::min(products[i].w->out, last * quant::kBlock), i);
    };
    const auto range = [&](int64_t first, int64_t last) {
      if (first == last) return;
      if (tied) {
        for (size_t i = 0; i < products.size(); i++) part(i, first, last);
        return;
      }
      int64_t before = 0;
      for (size_t i = 0; i < products.size(); i++) {
        const int64_t blocks = quant::blocks(products[i].w->out);
        const int64_t from = std::max(first - before, int64_t{0}),
                      to = std::min(last - before, blocks);
        if (from < to) part(i, from, to);
        before += blocks;
      }
    };
    if (!team.nodes().empty()) {  // a thread's part of each matrix lies in its node's memory
      team.run([&](int thread, int threads) {
        for (size_t i = 0; i < products.size(); i++) {
          const int64_t all = quant::blocks(products[i].w->out);
          const int64_t first = all * thread / threads, last = all * (thread + 1) / threads;
          if (first < last) part(i, first, last);
        }
      });
      return;
    }
    int64_t blocks = 0;
    for (const Product& p : products) blocks += quant::blocks(p.w->out);
    if (tied) blocks /= static_cast<int64_t>(products.size());
    team.run([&](int thread, int threads) {
      range(blocks * thread / threads, blocks * (thread + 1) / threads);
    });
  }

 private:
  void prepare(const float* x, int64_t rows, std::span<const Product> products, ThreadTeam& team,
               KernelUseCounter& use);
  void multiply(const float* x, int64_t rows, const Product& product, int64_t first_block,
                int64_t last_block) const;
  const Buffer& quantized(int group) const { return group == 32 ? by_32_ : by_256_; }
  Buffer& quantized(int group) { return group == 32 ? by_32_ : by_256_; }

  bool float_activations_;
  int64_t widest_[2] = {};  // most `in` of known matrices, by group
  Buffer by_32_, by_256_;   // quantized rows, for each group size in use
};

}  // namespace mlxcel
