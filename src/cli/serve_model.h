// A checkpoint opened to be served: text, weights and engine in one.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/open_model.h"
#include "cli/serve_arguments.h"
#include "server/models.h"

namespace mlxcel {

// What the flags ask of the engine.
EngineOptions serving_options(const ServeArguments& a);
// Bytes that the model takes at most, within `most` (0: nine tenths of what is free).
Result<int64_t> serving_bytes(const ServeArguments& a, const Checkpoint& checkpoint, int64_t most);
Result<std::unique_ptr<server::RunningModel>> open_served(
    const ServeArguments& a, Checkpoint checkpoint, const server::ModelName& name, int64_t most,
    const server::ModelSource::Progress& progress);

}  // namespace mlxcel
