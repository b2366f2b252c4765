// Runs token ids through a model without the engine: one sequence, pages in order, any cut into
// steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/dry/dry.h"
#include "formats/checkpoint.h"
#include "models/registry.h"
#include "ops/backend.h"
#include "weights/load.h"

namespace mlxcel {

struct LoadedFamily {
  std::unique_ptr<Family> family;
  std::unique_ptr<Backend> backend;
};

inline Result<LoadedFamily> load_family(const std::string& path, std::unique_ptr<Backend> backend) {
  TRY(const Checkpoint checkpoint, open_checkpoint(path));
  TRY(auto family, make_family(checkpoint.config()));
  if (family->facts().experts && !backend->has_experts())
    return Error{Code::kUnsupported, path + ": expected a backend with experts, found none"};
  TRY_OK(load_weights(
      checkpoint, [&](WeightVisitor& w) { family->visit(w); }, *backend));
  return LoadedFamily{std::move(family), std::move(backend)};
}

// Logits of every position, [ids.size(), vocab], in steps of `chunk` rows.
inline Result<std::vector<float>> run_tokens(const Family& family, Backend& backend,
                                             std::span<const int32_t> ids, int chunk) {
  const int total = static_cast<int>(ids.size()),
            pages = (total + kPagePositions - 1) / kPagePositions;
  const auto& groups = family.facts().kv_groups;
  const std::vector<int32_t> counts(groups.size(), pages);
  StepLimits limits = {.rows = chunk, .head_rows = chunk, .sequences = 1, .positions = total};
  limits.arena = 1 << 24;
  TRY_OK(backend.open_kv(groups, counts, limits));
  std::vector<PageId> table(pages);
  for (int i = 0; i < pages; i++) table[i] = i;
  const std::vector<PageTable> tables(groups.size(), table);
  std::vector<float> logits(ids.size() * family.facts().vocab);
  for (int first = 0; first < total; first += chunk) {
    const int n = std::min(chunk, total - first);
    std::vector<RowInput> inputs(n);
    std::vector<int32_t> positions(n), rows(n);
    for (int i = 0; i < n; i++) {
      inputs[i].index = ids[first + i], positions[i] = first + i, rows[i] = i;
    }
    const Segment segment = {.rows = n, .start = first, .tables = tables};
    Step step;
    step.inputs = inputs, step.positions = positions, step.head_rows = rows,
    step.segments = {&segment, 1};
    backend.begin(step);
    const Tensor hidden = family.forward(backend, step);
    const Tensor y = family.head(backend, backend.take_rows(hidden, rows));
    backend.read(y, std::span(logits).subspan(first * family.facts().vocab, y.shape.size()));
    backend.end();
  }
  return logits;
}

}  // namespace mlxcel
