// What a model's name on a command line means.
//
// In this order: an existing path, ./models/NAME, a folder of the store, a snapshot in the Hugging
// Face cache, a repository of a hub. A name without owner gets MLXCEL_DEFAULT_ORG (mlx-community),
// or is the one stored model of that name.
#pragma once

#include <string>

#include "base/result.h"
#include "hub/store.h"

namespace mlxcel {

inline constexpr char kDefaultModel[] = "HuggingFaceTB/SmolLM2-135M-Instruct";

struct ModelPlace {
  std::string path;         // "": not on this machine
  std::string repo, tried;  // then: what the name means on a hub, and where it is not
};
// "": the default model. An Error for what can only be a path, and is not there.
Result<ModelPlace> locate_model(const std::string& name);
// The path of a model that is here. The Error lists what was tried.
Result<std::string> resolve_model(const std::string& name);
// `hub`: why it was not fetched, or how it can be.
Error not_here(const std::string& name, const ModelPlace& place, const std::string& hub);
// "mlxcel download OWNER/NAME fetches it from a hub"
std::string how_to_fetch(const ModelPlace& place);

// The stored model that a name means, whole or partial; never a path outside the store.
Result<StoredModel> find_stored(const std::string& name);

}  // namespace mlxcel
