// What `bench kernel` can run besides single kernels: two ways to do one thing, against each other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evidence/kernel_bench.h"

namespace mlxcel {

struct ScenarioCase {
  KernelCase base, arm;         // of equal shape; base is what the arm replaces
  std::function<bool()> equal;  // whether both give the same; none: they need not
};

struct ScenarioEntry {
  const char* name;
  const char* summary;
  std::vector<ScenarioCase> (*cases)();
};

std::span<const ScenarioEntry> scenario_entries();

// One token's matrix product over weights that no cache holds: what runs before an op in a decode.
std::function<void()> decode_forward(int64_t cache_bytes);

}  // namespace mlxcel
