// The published meaning of each weight format, in double and without haste: the oracle for packed
// layouts.
#pragma once

#include "base/result.h"
#include "ops/weight.h"

namespace mlxcel {

// True if dequantize_row knows the source's format.
bool ref_knows(const WeightSource& source);

// Row `row` of the published weight: transforms undone. out[source.in]
void dequantize_row(const WeightSource& source, int64_t row, double* out);

}  // namespace mlxcel
