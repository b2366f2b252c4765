// Tables of speeds as CSV: read strictly, since a table that was cut off still looks like one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mlxcel {

// {harness}_{hardware}[_{kind}]_{date}[_single_{model}].csv, or the older
// {date}_{hardware}_{kind}.csv
struct TableName {
  std::string harness, hardware, date;
  std::string kind = "text";  // "vlm", "spec", "batch", "embeddings"
  std::string model;          // of a table of one
};
std::optional<TableName> parse_table_name(std::string_view file);

struct TableRow {
  std::map<std::string, std::string, std::less<>> cells;

  std::string at(std::string_view column) const;  // "" if there is none
  std::optional<double> number(std::string_view column) const;
  std::string status() const;  // "ok" where a table has no such column
};

struct BenchTable {
  std::string file;  // its name, without folders
  TableName name;
  std::vector<std::string> columns;
  std::vector<TableRow> rows;
};

// Refuses cut lines, lines of another length than the header, columns that come twice, dates that
// do not exist, and a table without `model`.
Result<BenchTable> parse_table(std::string_view path, std::string_view text);

// One row, quoted where it must be, without the line's end.
std::string csv_line(const std::vector<std::string>& cells);

// What a model is called: aliases of docs/model-catalog.tsv lead to its name.
class ModelNames {
 public:
  static Result<ModelNames> parse(std::string_view path, std::string_view tsv);
  std::string resolved(const std::string& name) const;
  // It answers with vectors or scores, not with text.
  bool embeds(const std::string& name) const;

 private:
  std::map<std::string, std::string> name_of_, family_of_;
};

}  // namespace mlxcel
