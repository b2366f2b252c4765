// Where `mlxcel serve` has its models from: -m, or a folder of them.
#pragma once

#include <memory>

#include "cli/serve_arguments.h"
#include "server/models.h"

namespace mlxcel {

// The model of -m, downloaded if it must be. `a` must outlive the source.
Result<std::unique_ptr<server::ModelSource>> single_model(const ServeArguments& a);
// Those of --models-dir: *.gguf (of a split one the first part names it), folders of one model, and
// such folders in a folder of their owner, as the store has them. Names come from this list only:
// what a request says never becomes a path.
Result<std::unique_ptr<server::ModelSource>> model_folder(const ServeArguments& a);

}  // namespace mlxcel
