// Weights without data: shapes alone, for the dry backend.
#pragma once

#include "ops/backend.h"
#include "weights/load.h"

namespace mlxcel {

// Hands every weight that `visit` lists to the backend with its shape and no bytes.
Status shape_weights(const VisitWeights& visit, Backend& backend);

}  // namespace mlxcel
