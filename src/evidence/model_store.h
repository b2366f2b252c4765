// The checkpoints of a folder, and which of them are the same one under another name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace mlxcel {

struct FoundModel {
  std::string name;          // as records name it: of the directory, or of the GGUF without .gguf
  std::string path;          // what a command opens
  std::string real_path;     // without links
  int64_t bytes = 0;         // of the weight files
  std::string identity;      // equal: the same checkpoint; "": told from no other
  std::string duplicate_of;  // name of the one that stands for it; "": itself
};

// Every checkpoint at most three folders below `directory`: a folder with config.json or
// safetensors, and each GGUF (a split one once). In the order of their paths with a slash behind
// ("x-4bit" before "x"), which decides who stands for duplicates.
Result<std::vector<FoundModel>> find_models(const std::string& directory);

// Of a directory: SHA-256 of config.json, names and sizes of all weight files, and 16 samples of 4
// KiB from each: two fine-tunes of one model agree in all but the samples. Of a GGUF, which holds
// its own configuration: size and samples. "" without config.json.
Result<std::string> checkpoint_identity(const std::string& path);

// Sets duplicate_of by real path and by identity.
void mark_duplicates(std::vector<FoundModel>& models);

}  // namespace mlxcel
