// What each checkpoint of a folder is, on what evidence, and under which names it was measured: so
// that a row of an old table joins one of today after a rename.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evidence/model_store.h"
#include "evidence/store.h"

namespace mlxcel {

// What opening a checkpoint tells: headers and index are checked against the files by then.
struct CheckpointFacts {
  std::string format, family, precision;  // "gguf", "llama", "Q4_1"
  int64_t tensors = 0;
};

struct CatalogEntry {
  std::string name;
  std::vector<std::string> aliases;  // sorted
  std::string identity;              // first 16 digits; "": no config.json
  CheckpointFacts facts;
  std::string shards;  // "ok, 291 tensors", or what is wrong
  int64_t bytes = 0;
  std::vector<std::string> records;  // that name it or an alias
};

using InspectCheckpoint = std::function<Result<CheckpointFacts>(const std::string& path)>;

// `old_tsv`: the catalog so far ("": none), whose names and aliases are kept for equal identities
// also when their directories are gone.
Result<std::vector<CatalogEntry>> make_catalog(std::vector<FoundModel> models,
                                               const RecordStore& records,
                                               const InspectCheckpoint& inspect,
                                               const std::string& old_tsv);

std::string catalog_tsv(const std::vector<CatalogEntry>& catalog);
std::string catalog_markdown(const std::vector<CatalogEntry>& catalog);

}  // namespace mlxcel
