#include "hub/select_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "base/cat.h"
#include "base/json.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

constexpr std::string_view kIndex = "model.safetensors.index.json";
// What src/formats and src/text read beside weights.
constexpr std::array<std::string_view, 5> kBeside = {"config.json", "generation_config.json",
                                                     "tokenizer.json", "tokenizer_config.json",
                                                     "chat_template.jinja"};

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

bool at_root(const RepoFile& f) { return f.path.find('/') == f.path.npos && f.path[0] != '.'; }

// A GGUF file's path without "-00001-of-00003.gguf" or ".gguf": equal for the parts of one model.
std::string gguf_stem(const std::string& path) {
  constexpr size_t kTail = 15;  // "-00001-of-00003"
  std::string stem = path.substr(0, path.size() - 5);
  if (stem.size() <= kTail) return stem;
  const std::string tail = stem.substr(stem.size() - kTail);
  const std::string_view shape = "-00000-of-00000";
  for (size_t i = 0; i < kTail; i++) {
    const bool digit = std::isdigit(static_cast<unsigned char>(tail[i])) != 0;
    if (shape[i] == '0' ? !digit : tail[i] != shape[i]) return stem;
  }
  return stem.substr(0, stem.size() - kTail);
}

using Group = std::vector<RepoFile>;

Group root_files(const Repo& repo, std::string_view ending) {
  Group files;
  for (const RepoFile& f : repo.files) {
    if (at_root(f) && f.path.ends_with(ending)) files.push_back(f);
  }
  return files;
}

Result<Group> indexed_files(const Repo& repo, const std::string& index) {
  boost::system::error_code error;
  const json::value v = json::parse(index, error);
  const json::object* o = error ? nullptr : v.if_object();
  const json::value* map = o == nullptr ? nullptr : o->if_contains("weight_map");
  if (map == nullptr || !map->is_object())
    return Error{Code::kCorrupt, cat(repo.name, "/", kIndex, ": expected a weight_map")};
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->get_object()) {
    if (file.is_string()) names.emplace(file.get_string());
  }
  Group files;
  for (const RepoFile& f : root_files(repo, ".safetensors")) {
    if (names.erase(f.path) > 0) files.push_back(f);
  }
  if (!names.empty()) {
    return Error{Code::kNotFound, cat(repo.name, ": expected ", *names.begin(),
                                      ", which its index names, found none")};
  }
  return files;
}

// The same choice as formats/shards.cc makes in a folder.
Group unindexed_files(const Repo& repo) {
  Group all = root_files(repo, ".safetensors"), whole, named, rest;
  for (const RepoFile& f : all) {
    if (f.path == "model.safetensors") whole.push_back(f);
    if (f.path.starts_with("model")) named.push_back(f);
    if (!f.path.starts_with("adapter") && !f.path.starts_with("consolidated")) rest.push_back(f);
  }
  return !whole.empty() ? whole : !named.empty() ? named : rest;
}

std::map<std::string, Group> gguf_groups(const Repo& repo) {
  std::map<std::string, Group> groups;
  for (const RepoFile& f : repo.files) {
    if (!f.path.ends_with(".gguf") || f.name().starts_with("mmproj") || f.path[0] == '.') continue;
    groups[gguf_stem(f.path)].push_back(f);
  }
  return groups;
}

std::string listed(const std::map<std::string, Group>& groups) {
  std::string text;
  for (const auto& [stem, files] : groups) {
    int64_t bytes = 0;
    for (const RepoFile& f : files) bytes += std::max<int64_t>(f.facts.size, 0);
    text += cat("\n  ", stem, "  ", readable_size(bytes));
  }
  return text;
}

Result<Group> choose_gguf(const Repo& repo, const std::string& wanted) {
  constexpr const char* kUsual = "q4_k_m";
  const auto groups = gguf_groups(repo);
  if (wanted.empty() && groups.size() == 1) return groups.begin()->second;
  std::map<std::string, Group> fitting;
  for (const auto& [stem, files] : groups) {
    if (lower(stem).find(wanted.empty() ? kUsual : lower(wanted)) != stem.npos)
      fitting.emplace(stem, files);
  }
  // "Q4_K" names Q4_K itself, not Q4_K_M too.
  for (const auto& [stem, files] : groups) {
    if (!wanted.empty() && lower(stem).ends_with(lower(wanted))) fitting = {{stem, files}};
  }
  if (fitting.size() == 1) return fitting.begin()->second;
  return Error{Code::kInvalid, cat("--file", wanted.empty() ? ": not given" : " = " + wanted,
                                   ": expected part of the name of one GGUF file of ", repo.name,
                                   ", found ", fitting.size(), " that fit of", listed(groups))};
}

}  // namespace

const RepoFile* weight_index(const Repo& repo) {
  for (const RepoFile& f : repo.files) {
    if (f.path == kIndex) return &f;
  }
  return nullptr;
}

Result<std::vector<RepoFile>> select_files(const Repo& repo, const std::string& wanted,
                                           const std::string& index) {
  Group weights, chosen;
  const auto beside = [&](const RepoFile& f) {
    return std::find(kBeside.begin(), kBeside.end(), f.path) != kBeside.end();
  };
  if (wanted.empty()) {
    if (!index.empty()) {
      TRY(weights, indexed_files(repo, index));
    } else {
      weights = unindexed_files(repo);
    }
  }
  if (!weights.empty()) {
    if (!index.empty()) chosen.push_back(*weight_index(repo));
    std::copy_if(repo.files.begin(), repo.files.end(), std::back_inserter(chosen), beside);
  } else if (!gguf_groups(repo).empty()) {
    TRY(weights, choose_gguf(repo, wanted));
  } else {
    return Error{Code::kUnsupported,
                 cat(repo.name, ": expected safetensors or GGUF files, found none",
                     wanted.empty() ? "" : cat(" that --file ", wanted, " could name"))};
  }
  chosen.insert(chosen.end(), weights.begin(), weights.end());
  return chosen;
}

}  // namespace mlxcel
