// Checkpoints in several files: how parts are named, and which files make up a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mlxcel {

// "model-00002-of-00003.gguf" is part 2 of 3 of "model".
struct PartName {
  std::string prefix, suffix;  // "model", ".gguf"
  int part = 0, count = 0;     // 1 <= part <= count
};
std::optional<PartName> parse_part_name(std::string_view file);
std::string part_file(const PartName& name, int part);

// All parts of the set that `name` belongs to, in order; an error that lists those not in `files`.
Result<std::vector<std::string>> all_parts(const std::string& directory, const PartName& name,
                                           const std::vector<std::string>& files);

// The names in a directory, sorted.
Result<std::vector<std::string>> list_directory(const std::string& directory);

// The weight_map of model.safetensors.index.json: tensor -> file.
using ShardIndex = std::map<std::string, std::string, std::less<>>;
Result<ShardIndex> parse_shard_index(std::string_view where, std::string_view text);

// The .safetensors files of a model.
struct Shards {
  ShardIndex index;                  // what they must hold; empty without an index
  std::vector<std::string> files;    // to open first
  std::vector<std::string> missing;  // named by the index, but not there
  std::vector<std::string> others;   // what else might hold a tensor if the index is stale
};
Result<Shards> choose_shards(const std::string& directory, const std::vector<std::string>& files);

}  // namespace mlxcel
