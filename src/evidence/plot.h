// A metric over records, as an SVG: the median of each as a point, all repetitions as a bar.
#pragma once

#include <string>

#include "base/result.h"
#include "evidence/store.h"

namespace mlxcel {

struct PlotOptions {
  std::string metric = "decode_tok_s";
  std::string kind = "decode", model, label;  // "": any
};

// In the order of time; an Error if no record has the metric.
Result<std::string> plot(const RecordStore& store, const PlotOptions& options);

}  // namespace mlxcel
