#include "evidence/catalog.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "base/cat.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

constexpr size_t kIdentityDigits = 16;

std::string joined(const std::vector<std::string>& parts, const char* by) {
  std::string all;
  for (const std::string& p : parts) all += cat(all.empty() ? "" : by, p);
  return all;
}

// A cell holds neither tabs nor line ends, a list of aliases no semicolon.
std::string cell(std::string text) {
  for (char& c : text) c = c == '\t' || c == '\n' || c == '|' ? ' ' : c;
  return text;
}

using NamesByIdentity = std::map<std::string, std::set<std::string>>;

Result<NamesByIdentity> old_names(const std::string& tsv) {
  NamesByIdentity names;
  if (tsv.empty()) return names;
  std::istringstream lines(tsv);
  std::string line;
  std::getline(lines, line);
  if (!line.starts_with("name\taliases\tidentity\t"))
    return Error{Code::kInvalid,
                 cat("catalog: expected columns name, aliases, identity, found ", line)};
  for (int number = 2; std::getline(lines, line); number++) {
    std::istringstream cells(line);
    std::string name, aliases, identity;
    std::getline(cells, name, '\t');
    std::getline(cells, aliases, '\t');
    if (!std::getline(cells, identity, '\t') || name.empty())
      return Error{Code::kCorrupt,
                   cat("catalog: line ", number, ": expected a whole row, found ", line)};
    if (identity.empty()) continue;
    names[identity].insert(name);
    std::istringstream each(aliases);
    for (std::string alias; std::getline(each, alias, ';');)
      if (!alias.empty()) names[identity].insert(alias);
  }
  return names;
}

void add_records(const RecordStore& store, CatalogEntry& e) {
  for (const StoredRecord& r : store.records) {
    const json::value* v = value_at(r.content, "model.name");
    if (v == nullptr || !v->is_string()) continue;
    const std::string name(v->get_string());
    if (name == e.name || std::count(e.aliases.begin(), e.aliases.end(), name) > 0)
      e.records.push_back(r.name);
  }
}

}  // namespace

Result<std::vector<CatalogEntry>> make_catalog(std::vector<FoundModel> models,
                                               const RecordStore& records,
                                               const InspectCheckpoint& inspect,
                                               const std::string& old_tsv) {
  TRY(const NamesByIdentity before, old_names(old_tsv));
  mark_duplicates(models);
  std::vector<CatalogEntry> catalog;
  std::map<std::string, std::set<std::string>> aliases;
  for (const FoundModel& m : models) {
    if (!m.duplicate_of.empty()) aliases[m.duplicate_of].insert(m.name);
  }
  for (const FoundModel& m : models) {
    if (!m.duplicate_of.empty()) continue;
    CatalogEntry e;
    e.name = m.name, e.bytes = m.bytes, e.identity = m.identity.substr(0, kIdentityDigits);
    std::set<std::string> names = aliases[m.name];
    if (const auto old = before.find(e.identity); old != before.end())
      names.insert(old->second.begin(), old->second.end());
    names.erase(e.name);
    e.aliases.assign(names.begin(), names.end());
    if (auto facts = inspect(m.path); facts) {
      e.shards = cat("ok, ", facts->tensors, " tensors");
      e.facts = std::move(*facts);
    } else {
      e.shards = reduced_paths(facts.error().message);
    }
    add_records(records, e);
    catalog.push_back(std::move(e));
  }
  return catalog;
}

std::string catalog_tsv(const std::vector<CatalogEntry>& catalog) {
  std::string out = "name\taliases\tidentity\tformat\tfamily\tprecision\tbytes\tshards\trecords\n";
  for (const CatalogEntry& e : catalog) {
    out += cat(cell(e.name), "\t", cell(joined(e.aliases, ";")), "\t", e.identity, "\t",
               e.facts.format, "\t", cell(e.facts.family), "\t", cell(e.facts.precision), "\t",
               e.bytes, "\t", cell(e.shards), "\t", joined(e.records, ";"), "\n");
  }
  return out;
}

std::string catalog_markdown(const std::vector<CatalogEntry>& catalog) {
  std::string out =
      "# Model catalog\n\nWritten by `mlxcel catalog`. Identity: SHA-256 over config.json, names "
      "and sizes of the weight files,\nand samples of their bytes. Shards: every header and the "
      "index, against the files.\n\n| model | also known as | family | precision | size | shards | "
      "identity | records |\n|---|---|---|---|---|---|---|---|\n";
  for (const CatalogEntry& e : catalog) {
    char size[32];
    std::snprintf(size, sizeof size, "%.2f GB", static_cast<double>(e.bytes) / 1e9);
    out += cat("| ", cell(e.name), " | ", cell(joined(e.aliases, ", ")), " | ",
               cell(e.facts.family), " | ", cell(e.facts.precision), " | ", size, " | ",
               cell(e.shards), " | ", e.identity, " | ", e.records.size(), " |\n");
  }
  return out;
}

}  // namespace mlxcel
