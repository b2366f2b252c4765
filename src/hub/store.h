// The model store on this machine.
//
//   ${MLXCEL_MODELS_DIR:-${MLXCEL_CACHE_DIR:-$HOME/.cache/mlxcel}/models}/<owner>/<name>
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace mlxcel {

std::string models_directory();

struct StoredModel {
  std::string name;  // owner/name
  std::string path;
  int64_t bytes = 0;     // of its files
  int64_t modified = 0;  // seconds since 1970, of the newest file
  bool partial = false;  // a download that has not ended
};

// Fills in all but the name. False if the folder holds no weights.
bool measure_model(const std::string& folder, StoredModel& model);

// In order of name. A store that does not exist is empty.
Result<std::vector<StoredModel>> stored_models(bool with_partial = false);

// Where a model is while it comes.
std::string staging_folder(const std::string& model);
// Deletes the folder with what is on its way to it, and its owner's if that is empty now.
Status remove_stored(const StoredModel& model);

// "98 MB", with powers of 1000 as file managers have it.
std::string readable_size(int64_t bytes);

}  // namespace mlxcel
