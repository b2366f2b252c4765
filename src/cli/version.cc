#include "cli/version.h"

#include "backends/cuda/cuda.h"
#include "base/cat.h"
#include "cli/version_stamp.h"  // made by every build
#include "kernels/isa.h"

namespace mlxcel {

std::string version_number() { return MLXCEL_VERSION; }

std::string commit() { return MLXCEL_COMMIT; }

std::string version_text() {
  std::string isas;
  for (const Isa isa : attainable_isas()) isas += cat(isas.empty() ? "" : " ", name(isa));
  return cat("mlxcel ", MLXCEL_VERSION, " (", MLXCEL_COMMIT, ")\nbackends: cpu",
             has_cuda_backend() ? " cuda" : "",
             "\ninstruction sets here: ", isas.empty() ? "none that mlxcel can use" : isas);
}

}  // namespace mlxcel
