// From a checkpoint's bytes to a backend's matrices: finds each weight that a family lists, checks
// its shape and hands it over. Tensor by tensor, so that peak memory stays near the model's size.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "formats/checkpoint.h"
#include "ops/backend.h"
#include "ops/visitor.h"

namespace mlxcel {

// Called after each weight with bytes of the checkpoint done and in total.
using LoadProgress = std::function<void(int64_t done, int64_t total)>;

// What lists its weights to a visitor: a Family (models/family.h), which this folder does not know.
using VisitWeights = std::function<void(WeightVisitor&)>;

// Loads every weight that `visit` lists. Errors: a weight that is missing, has another shape or a
// format that the backend does not know, and a tensor of the checkpoint that the family does not
// use (its math would silently be wrong).
Status load_weights(const Checkpoint& checkpoint, const VisitWeights& visit, Backend& backend,
                    const LoadProgress& progress = {});

// Bytes that the backend will keep, without loading; the same errors.
Result<int64_t> weight_bytes(const Checkpoint& checkpoint, const VisitWeights& visit,
                             const Backend& backend);

}  // namespace mlxcel
