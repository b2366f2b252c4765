// LoadedModel: a family with its weights on a backend; and the memory that running it takes, asked
// before anything is loaded.
//
//   TRY(EngineOptions options, complete(family->facts(), wanted));
//   options.arena_elements = ...;  // run_largest_step on the dry backend, whose arena is counted
//   TRY(MemoryPlan plan, plan_memory(facts, backend, weight_bytes, options, available_memory()));
//   load_weights(...);  Engine::create(*model.family, *model.backend, plan.options);
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "models/family.h"
#include "ops/backend.h"

namespace mlxcel {

struct LoadedModel {
  std::string name;  // as the user called it
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Family> family;  // its weights live on `backend`
  int64_t weight_bytes = 0;        // that the backend keeps
};

struct MemoryPlan {
  EngineOptions options;                   // complete, with kv_pages as memory allows
  std::vector<int32_t> pages;              // [KV groups]
  int64_t weights = 0, kv = 0, arena = 0;  // bytes

  int64_t total() const { return weights + kv + arena; }
};

// If options.kv_pages is 0, takes as many pages as max_sequences full contexts need and nine tenths
// of `available` bytes hold, at least one context. An Error with the numbers if not even that fits,
// or the pages asked for do not. `available` below 0: unknown, not checked.
Result<MemoryPlan> plan_memory(const FamilyFacts& facts, const Backend& backend,
                               int64_t weight_bytes, const EngineOptions& options,
                               int64_t available);

// The largest step that these (complete) options allow, on any backend: counts what it takes on the
// dry one, and warms up a real one. Opens the backend's KV anew.
Status run_largest_step(const Family& family, Backend& backend, const EngineOptions& options);

}  // namespace mlxcel
