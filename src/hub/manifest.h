// ".mlxcel.json" in a downloaded folder: which repository and commit it is, and what its files are.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "hub/content_hash.h"

namespace mlxcel {

struct Manifest {
  std::string repo, revision, commit;
  std::map<std::string, FileFacts> files;
};

// An empty one if there is none, or none that can be read.
Manifest read_manifest(const std::string& folder);
Status write_manifest(const std::string& folder, const Manifest& manifest);

}  // namespace mlxcel
