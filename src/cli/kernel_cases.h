// What `bench kernel` can run: one entry per folder of src/kernels that computes.
#pragma once

#include <span>
#include <vector>

#include "evidence/kernel_bench.h"

namespace mlxcel {

struct KernelEntry {
  const char* name;  // of the folder
  std::vector<KernelCase> (*cases)();
};

std::span<const KernelEntry> kernel_entries();

}  // namespace mlxcel
