// The records of a folder.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

struct StoredRecord {
  std::string name;  // of its file
  json::object content;
};

struct RecordStore {
  std::vector<StoredRecord> records;  // by name
  std::vector<std::string> problems;  // "name: what", of those that do not verify

  const StoredRecord* find(std::string_view name) const;
};

// Reads and checks every *.json of `directory`; an Error if it cannot be read.
Result<RecordStore> read_records(const std::string& directory);

// The value at "metrics.decode_tok_s.median"; numbers index lists. Null if there is none.
const json::value* value_at(const json::object& record, std::string_view path);

Result<std::string> read_whole(const std::string& path);

}  // namespace mlxcel
