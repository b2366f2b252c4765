#include "hub/manifest.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/cat.h"
#include "base/json.h"

namespace mlxcel {
namespace {

constexpr char kName[] = "/.mlxcel.json";

std::string text_of(const json::object& o, const char* key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : "";
}

}  // namespace

Manifest read_manifest(const std::string& folder) {
  std::ifstream file(folder + kName);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code error;
  const json::value v = json::parse(text, error);
  if (error || !v.is_object()) return {};
  const json::object& o = v.get_object();
  Manifest m;
  m.repo = text_of(o, "repo"), m.revision = text_of(o, "revision"), m.commit = text_of(o, "commit");
  const json::value* files = o.if_contains("files");
  if (files == nullptr || !files->is_object()) return {};
  for (const auto& [name, facts] : files->get_object()) {
    if (!facts.is_object()) continue;
    const json::value* size = facts.get_object().if_contains("size");
    m.files[name] = {size != nullptr && size->is_int64() ? size->get_int64() : -1,
                     text_of(facts.get_object(), "hash")};
  }
  return m;
}

Status write_manifest(const std::string& folder, const Manifest& m) {
  json::object files;
  for (const auto& [name, facts] : m.files)
    files[name] = json::object{{"size", facts.size}, {"hash", facts.hash}};
  const json::object o = {{"repo", m.repo},
                          {"revision", m.revision},
                          {"commit", m.commit},
                          {"files", std::move(files)}};
  std::ofstream file(folder + kName);
  file << json::serialize(o) << '\n';
  file.close();
  if (!file) return Error{Code::kIo, cat(folder, ": cannot be written: ", std::strerror(errno))};
  return Ok{};
}

}  // namespace mlxcel
