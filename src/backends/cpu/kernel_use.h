// Counts which kernels ran with how many rows, without allocating in a step.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/cat.h"
#include "kernels/isa.h"
#include "ops/backend.h"

namespace mlxcel {

class KernelUseCounter {
 public:
  // The three names are literals: they are compared as pointers.
  void note(const char* kernel, const char* format, const char* path, int64_t rows) {
    const Isa isa = current_isa();
    for (int i = 0; i < used_; i++) {
      Entry& e = entries_[i];
      if (e.kernel != kernel || e.format != format || e.path != path || e.isa != isa) continue;
      e.calls++;
      e.min_rows = std::min(e.min_rows, rows), e.max_rows = std::max(e.max_rows, rows);
      return;
    }
    if (used_ < static_cast<int>(entries_.size()))
      entries_[used_++] = {kernel, format, path, isa, 1, rows, rows};
  }

  std::vector<KernelUse> take() {
    std::vector<KernelUse> all;
    for (int i = 0; i < used_; i++) {
      const Entry& e = entries_[i];
      all.push_back({cat(e.kernel, "/", e.format, "/", name(e.isa), "/", e.path), e.calls,
                     e.min_rows, e.max_rows});
    }
    used_ = 0;
    return all;
  }

 private:
  struct Entry {
    const char *kernel, *format, *path;
    Isa isa;
    int64_t calls, min_rows, max_rows;
  };
  std::array<Entry, 256> entries_;
  int used_ = 0;
};

}  // namespace mlxcel
