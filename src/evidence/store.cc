#include "evidence/store.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cat.h"
#include "evidence/record.h"

namespace mlxcel {

Result<std::string> read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  if (!in) return Error{Code::kIo, cat(path, ": cannot be read")};
  return s.str();
}

const StoredRecord* RecordStore::find(std::string_view name) const {
  for (const StoredRecord& r : records) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

Result<RecordStore> read_records(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename().string());
  }
  if (error) return Error{Code::kIo, cat(directory, ": ", error.message())};
  std::sort(names.begin(), names.end());
  RecordStore store;
  for (const std::string& name : names) {
    TRY(const std::string text, read_whole(cat(directory, "/", name)));
    const auto problems = check_record(name, text);
    for (const std::string& p : problems) store.problems.push_back(cat(name, ": ", p));
    if (problems.empty()) store.records.push_back({name, json::parse(text).get_object()});
  }
  return store;
}

const json::value* value_at(const json::object& record, std::string_view path) {
  const json::object* object = &record;
  const json::value* v = nullptr;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), key.size() + 1));
    if (v == nullptr || v->is_object()) {
      v = (v == nullptr ? *object : v->get_object()).if_contains(key);
    } else if (v->is_array()) {
      size_t i = SIZE_MAX;
      std::from_chars(key.data(), key.data() + key.size(), i);
      v = i < v->get_array().size() ? &v->get_array()[i] : nullptr;
    } else {
      return nullptr;
    }
    if (v == nullptr) return nullptr;
  }
  return v;
}

}  // namespace mlxcel
