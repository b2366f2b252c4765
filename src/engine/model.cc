#include "engine/model.h"

#include <algorithm>
#include <numeric>

#include "base/cat.h"

namespace mlxcel {
namespace {

std::string mib(int64_t bytes) { return cat((bytes + (1 << 20) - 1) >> 20, " MiB"); }

int64_t kv_bytes(const FamilyFacts& facts, const Backend& backend,
                 const std::vector<int32_t>& pages) {
  int64_t bytes = 0;
  for (size_t g = 0; g < pages.size(); g++)
    bytes += pages[g] * backend.page_bytes(facts.kv_groups[g]);
  return bytes;
}

}  // namespace

Result<MemoryPlan> plan_memory(const FamilyFacts& facts, const Backend& backend,
                               int64_t weight_bytes, const EngineOptions& wanted,
                               int64_t available) {
  if (facts.experts && !backend.has_experts()) {
    return Error{Code::kUnsupported, cat("device ", backend.info().name,
                                         ": expected a backend with experts, which this model has "
                                         "(cpu is one), found none")};
  }
  MemoryPlan plan;
  TRY(plan.options, complete(facts, wanted));
  plan.weights = weight_bytes;
  plan.arena = 4 * plan.options.arena_elements;
  // A tenth stays for the program itself and for what others do meanwhile.
  const int64_t usable = available < 0 ? INT64_MAX : available / 10 * 9;
  const auto measure = [&](int32_t full_pages) {
    plan.options.kv_pages = full_pages;
    plan.pages = kv_pages(facts, plan.options);
    plan.kv = kv_bytes(facts, backend, plan.pages);
    return plan.total() <= usable;
  };
  if (!measure(plan.options.kv_pages) && wanted.kv_pages == 0) {
    int32_t fits = pages_for(plan.options.context), too_many = plan.options.kv_pages;
    while (too_many - fits > 1) {
      const int32_t middle = fits + (too_many - fits) / 2;
      (measure(middle) ? fits : too_many) = middle;
    }
    measure(fits);
  }
  if (wanted.prefix_pages == 0) plan.options.prefix_pages = plan.options.kv_pages;
  if (plan.total() > usable) {
    return Error{
        Code::kExhausted,
        cat("memory: weights take ", mib(plan.weights), ", the KV cache of ", plan.options.kv_pages,
            " pages ", mib(plan.kv), " and a step ", mib(plan.arena), ", together ",
            mib(plan.total()), "; expected at most ", mib(usable), " of the ", mib(available),
            " available; use a smaller context, fewer sequences or a smaller model")};
  }
  return plan;
}

Status run_largest_step(const Family& family, Backend& backend, const EngineOptions& options) {
  const FamilyFacts& facts = family.facts();
  const int32_t rows = options.max_rows;
  const std::vector<int32_t> counts(facts.kv_groups.size(), pages_for(rows));
  StepLimits limits;
  limits.rows = rows, limits.head_rows = options.max_head_rows;
  limits.sequences = 1, limits.positions = rows, limits.arena = options.arena_elements;
  TRY_OK(backend.open_kv(facts.kv_groups, counts, limits));
  std::vector<PageId> table(pages_for(rows));
  std::iota(table.begin(), table.end(), 0);
  const std::vector<PageTable> tables(counts.size(), table);
  const std::vector<RowInput> inputs(rows);
  std::vector<int32_t> positions(rows), heads(options.max_head_rows);
  std::iota(positions.begin(), positions.end(), 0);
  std::iota(heads.begin(), heads.end(), 0);
  Segment segment;
  segment.rows = rows;
  segment.tables = tables;
  Step step;
  step.inputs = inputs, step.positions = positions;
  step.segments = {&segment, 1}, step.head_rows = heads;
  backend.begin(step);
  const Tensor hidden = family.forward(backend, step);
  const Tensor logits = family.head(backend, backend.take_rows(hidden, heads));
  // The engine takes the rows to draw and the rows to report apart.
  backend.take_rows(logits, heads);
  backend.take_rows(logits, heads);
  backend.end();
  return Ok{};
}

}  // namespace mlxcel
