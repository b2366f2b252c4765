// Which files of a repository a model needs: its weights once, its configuration, its tokenizer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hub/hub_client.h"

namespace mlxcel {

// "model.safetensors.index.json" if the repository has one: choosing needs its text.
const RepoFile* weight_index(const Repo& repo);

// `wanted`: part of a GGUF file's path, in any case; "": the repository has one, or Q4_K_M.
// `index`: the text of weight_index, "" without one. The small files come first.
Result<std::vector<RepoFile>> select_files(const Repo& repo, const std::string& wanted,
                                           const std::string& index);

}  // namespace mlxcel
