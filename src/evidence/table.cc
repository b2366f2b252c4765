#include "evidence/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "base/cat.h"
#include "evidence/calendar.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

const std::set<std::string, std::less<>> kKinds = {"text", "vlm", "spec", "batch", "embeddings"};

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Cells of the line that starts at `at`, which moves behind its end. False: a quote stays open, or
// the text ends in it.
bool read_line(std::string_view text, size_t& at, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false;
  for (; at < text.size(); at++) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        cells.back() += c, at++;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      return at++, true;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return false;
}

Status check_header(std::string_view path, const std::vector<std::string>& columns) {
  std::set<std::string> seen;
  for (const std::string& c : columns) {
    if (!seen.insert(c).second)
      return Error{Code::kCorrupt, cat(path, ": column ", c, " comes twice")};
  }
  if (!seen.contains("model"))
    return Error{Code::kCorrupt, cat(path, ": expected a column model, found none")};
  return Ok{};
}

}  // namespace

std::optional<TableName> parse_table_name(std::string_view file) {
  if (!file.ends_with(".csv")) return std::nullopt;
  const std::vector<std::string> p = split(file.substr(0, file.size() - 4), '_');
  TableName n;
  if (p.size() == 3 && day_number(p[0]) && kKinds.contains(p[2])) {
    n.date = p[0], n.hardware = p[1], n.kind = p[2];
    return n;
  }
  if (p.size() < 3) return std::nullopt;
  n.harness = p[0], n.hardware = p[1];
  size_t at = 2;
  if (kKinds.contains(p[at])) n.kind = p[at++];
  if (at >= p.size() || !day_number(p[at])) return std::nullopt;
  n.date = p[at++];
  if (at == p.size()) return n;
  if (p[at++] != "single" || at == p.size()) return std::nullopt;
  for (; at < p.size(); at++) n.model += cat(n.model.empty() ? "" : "_", p[at]);
  return n;
}

std::string TableRow::at(std::string_view column) const {
  const auto found = cells.find(column);
  return found == cells.end() ? "" : found->second;
}

std::optional<double> TableRow::number(std::string_view column) const {
  const std::string text = at(column);
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(v) ? std::optional(v) : std::nullopt;
}

std::string TableRow::status() const {
  const std::string s = at("status");
  return s.empty() ? "ok" : s;
}

Result<BenchTable> parse_table(std::string_view path, std::string_view text) {
  BenchTable t;
  t.file = file_name(path);
  const auto name = parse_table_name(t.file);
  if (!name) {
    return Error{Code::kInvalid,
                 cat(t.file, ": expected a name like cpu_zen4-2c_2026-11-30.csv, found another")};
  }
  t.name = *name;
  size_t at = 0;
  if (!read_line(text, at, t.columns))
    return Error{Code::kCorrupt, cat(t.file, ": expected a header line, found none")};
  TRY_OK(check_header(t.file, t.columns));
  std::vector<std::string> cells;
  for (int line = 2; at < text.size(); line++) {
    const bool ended = read_line(text, at, cells);
    if (!ended || cells.size() != t.columns.size()) {
      return Error{Code::kCorrupt, cat(t.file, ": line ", line, ": expected ", t.columns.size(),
                                       " cells and a line end, found ", cells.size(), " cells",
                                       ended ? "" : " and the end of the file: was it cut off?")};
    }
    TableRow row;
    for (size_t i = 0; i < cells.size(); i++) row.cells[t.columns[i]] = cells[i];
    if (row.at("date").empty()) row.cells["date"] = t.name.date;
    if (row.at("hardware").empty()) row.cells["hardware"] = t.name.hardware;
    if (!day_number(row.at("date"))) {
      return Error{Code::kCorrupt,
                   cat(t.file, ": line ", line, ": expected a date like 2026-11-30, found ",
                       row.at("date"))};
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); i++) {
    if (i > 0) line += ',';
    if (cells[i].find_first_of(",\"\n") == std::string::npos) {
      line += cells[i];
      continue;
    }
    line += '"';
    for (const char c : cells[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line;
}

Result<ModelNames> ModelNames::parse(std::string_view path, std::string_view tsv) {
  ModelNames names;
  std::istringstream lines{std::string(tsv)};
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = split(line, '\t');
  const auto column = [&](std::string_view name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const size_t name = column("name"), aliases = column("aliases"), family = column("family");
  if (name == header.size() || aliases == header.size()) {
    return Error{Code::kInvalid, cat(path, ": expected columns name and aliases, found ", line)};
  }
  for (int number = 2; std::getline(lines, line); number++) {
    const std::vector<std::string> cells = split(line, '\t');
    if (cells.size() != header.size()) {
      return Error{Code::kCorrupt, cat(path, ": line ", number, ": expected ", header.size(),
                                       " cells, found ", cells.size())};
    }
    std::vector<std::string> all = split(cells[aliases], ';');
    all.push_back(cells[name]);
    for (const std::string& alias : all) {
      if (alias.empty()) continue;
      const auto [at, fresh] = names.name_of_.emplace(alias, cells[name]);
      if (!fresh && at->second != cells[name]) {
        return Error{Code::kCorrupt,
                     cat(path, ": line ", number, ": ", alias, " already means ", at->second)};
      }
    }
    if (family < header.size()) names.family_of_[cells[name]] = cells[family];
  }
  return names;
}

std::string ModelNames::resolved(const std::string& name) const {
  const auto found = name_of_.find(name);
  return found == name_of_.end() ? name : found->second;
}

bool ModelNames::embeds(const std::string& name) const {
  static const std::set<std::string> kWords = {
      "bge",       "colbert", "e5",     "embed",  "embedder", "embedding", "embeddings",
      "embedtext", "gte",     "minilm", "rerank", "reranker", "reranking"};
  const auto family = family_of_.find(resolved(name));
  if (family != family_of_.end() && family->second.find("bert") != std::string::npos) return true;
  std::string word;
  for (const char c : name + "-") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (kWords.contains(word)) return true;
    word.clear();
  }
  return false;
}

}  // namespace mlxcel
