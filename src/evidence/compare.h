// bench compare: two tables of speeds, row by row, or the reason why that would say nothing.
//
// A join by hand gets wrong, one at a time: two hosts, two versions, another prompt, a reference of
// another week, a vision sweep beside a text one, a row that was measured again since. Each of
// these refuses the comparison or drops the pair here, and every drop is told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "evidence/table.h"

namespace mlxcel {

struct CompareOptions {
  bool reference = false;            // `before` is another program, of the same host and day
  bool allow_commit_change = false;  // the change of version is what is measured
  double prompt_tolerance = 0.10;    // of the longer one
  int max_date_gap_days = 1;         // to a reference
  double moved_threshold = 0.03;     // |ratio - 1| above it: moved
  std::string metric = "decode_tok_s";
};

struct ComparedPair {
  std::string model, before_date, after_date;
  double before = 0, after = 0, ratio = 1;
  bool moved = false;
};

struct DroppedRow {
  std::string model, reason;
};

struct TableComparison {
  std::vector<std::string> refusals;  // not empty: no pairs
  std::vector<ComparedPair> pairs;
  std::vector<DroppedRow> drops;
  std::vector<std::string> warnings;
  double median_ratio = 1, geometric_mean = 1;
};

// `others`: tables that may hold newer readings of `before`'s rows.
TableComparison compare_tables(const BenchTable& before, const BenchTable& after,
                               std::span<const BenchTable> others, const ModelNames& names,
                               const CompareOptions& options);

std::string comparison_text(const TableComparison& c, const CompareOptions& options);
json::object comparison_json(const TableComparison& c, const CompareOptions& options);
// One bar for each pair, from the ratio 1 to its own. REQUIRES: pairs.
std::string comparison_svg(const TableComparison& c, const CompareOptions& options);

}  // namespace mlxcel
