// Whether the commits that records name are in the history of the checkout that holds them: a
// record that names another source cannot be made again.
#pragma once

#include <string>
#include <vector>

#include "evidence/store.h"

namespace mlxcel {

struct HistoryCheck {
  std::vector<std::string> problems;  // commits that are missing
  std::vector<std::string> notes;     // what could not be looked up, and why
};

// `root`: the checkout. Without a whole history, and for records that are older than it, nothing
// can be said; the notes tell. An Error if git fails.
Result<HistoryCheck> check_history(const std::string& root, const RecordStore& store);

}  // namespace mlxcel
