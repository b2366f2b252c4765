#include "evidence/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/cat.h"
#include "evidence/calendar.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

bool is_baseline(const TableRow& row) {
  const std::string v = row.at("baseline_version");
  return !v.empty() && v != "none";
}

// Which source made the row; "" if it does not say. Old tables have one of the two other columns.
std::string version_of(const TableRow& row) {
  std::string commit = row.at("mlxcel_commit");
  if (!commit.empty() && commit != "unknown") return commit;
  return "";
}

std::string described_version(const TableRow& row) {
  if (std::string commit = version_of(row); !commit.empty()) return commit;
  for (const char* column : {"mlxcel_version", "mlx_version"}) {
    if (!row.at(column).empty()) return cat("no mlxcel_commit (", column, " ", row.at(column), ")");
  }
  return "no version";
}

// What a row of a server's table is of besides its model; "" in others.
std::string load_of(const TableRow& row) {
  if (row.at("concurrency").empty()) return "";
  const auto rate = row.number("rate");
  return cat(" at ", row.at("concurrency"),
             rate && *rate > 0 ? cat(", ", row.at("rate"), "/s") : "");
}

class TableComparer {
 public:
  TableComparer(const BenchTable& before, const BenchTable& after,
                std::span<const BenchTable> others, const ModelNames& names,
                const CompareOptions& o)
      : before_(before), after_(after), others_(others), names_(names), o_(o) {}

  TableComparison run() {
    if (before_.name.kind != after_.name.kind) {
      refuse(cat(before_.file, " is a ", before_.name.kind, " table and ", after_.file, " a ",
                 after_.name.kind, " table"));
    }
    if (!o_.reference && before_.name.harness != after_.name.harness) {
      refuse(cat("harness ", before_.name.harness, " against ", after_.name.harness,
                 ": a program against another one needs --reference"));
    }
    const auto before = usable(before_, "before"), after = usable(after_, "after");
    for (const auto& [model, row] : before) {
      if (const auto found = after.find(model); found == after.end()) {
        if (!seen_after_.contains(model)) drop(model, cat("only in ", before_.file));
      } else {
        pair(model, *row, *found->second);
      }
    }
    for (const auto& [model, row] : after) {
      if (!before.contains(model) && !seen_before_.contains(model))
        drop(model, cat("only in ", after_.file));
    }
    if (!c_.refusals.empty()) {
      c_.pairs.clear();
    } else if (c_.pairs.empty()) {
      refuse("no pair of rows can be compared");
    } else {
      summarize();
    }
    return std::move(c_);
  }

 private:
  using Rows = std::map<std::string, const TableRow*>;

  void refuse(std::string why) {
    if (std::find(c_.refusals.begin(), c_.refusals.end(), why) == c_.refusals.end())
      c_.refusals.push_back(std::move(why));
  }
  void warn(std::string what) {
    if (std::find(c_.warnings.begin(), c_.warnings.end(), what) == c_.warnings.end())
      c_.warnings.push_back(std::move(what));
  }
  void drop(std::string model, std::string why) {
    c_.drops.push_back({std::move(model), std::move(why)});
  }

  // Rows with a number, one for each model.
  Rows usable(const BenchTable& table, const char* side) {
    Rows rows;
    std::set<std::string> twice;
    std::set<std::string>& seen = &table == &before_ ? seen_before_ : seen_after_;
    for (const TableRow& row : table.rows) {
      const std::string model = names_.resolved(row.at("model")) + load_of(row);
      std::string why;
      if (table.name.kind != "embeddings" && names_.embeds(row.at("model"))) {
        why = "embeds or ranks: not part of a generation roster";
      } else if (row.status() != "ok") {
        why = cat("status ", row.status());
      } else if (const auto v = row.number(o_.metric); !v || *v <= 0) {
        why = cat("no ", o_.metric, " above 0");
      } else if (!rows.emplace(model, &row).second) {
        twice.insert(model);
      }
      seen.insert(model);
      if (!why.empty()) drop(row.at("model"), cat(side, ": ", why));
    }
    for (const std::string& model : twice) {
      drop(model, cat(side, ": more than one row"));
      rows.erase(model);
    }
    return rows;
  }

  void pair(const std::string& model, const TableRow& a, const TableRow& b) {
    if (a.at("hardware") != b.at("hardware"))
      refuse(cat("host ", a.at("hardware"), " against ", b.at("hardware")));
    if (const std::string why = mismatch(a, b); !why.empty()) return drop(model, why);
    if (o_.reference) {
      check_reference(a, b);
    } else {
      check_versions(a, b);
    }
    for (const char* column : {"mlx_commit", "compiler"}) {
      if (!a.at(column).empty() && !b.at(column).empty() && a.at(column) != b.at(column))
        warn(cat(column, " differs: ", a.at(column), " against ", b.at(column)));
    }
    superseded(model, a);
    ComparedPair p = {model, a.at("date"), b.at("date"), *a.number(o_.metric),
                      *b.number(o_.metric)};
    p.ratio = p.after / p.before;
    p.moved = std::abs(p.ratio - 1) > o_.moved_threshold;
    c_.pairs.push_back(std::move(p));
  }

  // Why two rows are not the same work; "": they are.
  std::string mismatch(const TableRow& a, const TableRow& b) const {
    for (const char* column : {"prompt_tokens", "generated_tokens"}) {
      const auto x = a.number(column), y = b.number(column);
      if (!x || !y) return cat("no ", column);
      if (std::abs(*x - *y) > o_.prompt_tolerance * std::max(*x, *y)) {
        return cat(column, " ", a.at(column), " against ", b.at(column), ", more than ",
                   100 * o_.prompt_tolerance, " % apart");
      }
    }
    for (const char* column : {"batch", "width", "mode", "rotation", "endpoint", "texts"}) {
      if (!a.at(column).empty() && !b.at(column).empty() && a.at(column) != b.at(column))
        return cat(column, " ", a.at(column), " against ", b.at(column));
    }
    return "";
  }

  void check_reference(const TableRow& a, const TableRow& b) {
    if (!is_baseline(a)) {
      refuse(cat("--reference: expected rows of another program (baseline_version) in ",
                 before_.file, ", found none"));
    }
    const int gap = std::abs(*day_number(a.at("date")) - *day_number(b.at("date")));
    if (gap > o_.max_date_gap_days) {
      refuse(cat("the reference of ", a.at("date"), " is ", gap, " days from ", b.at("date"),
                 ", expected at most ", o_.max_date_gap_days));
    }
  }

  void check_versions(const TableRow& a, const TableRow& b) {
    if (is_baseline(a) != is_baseline(b)) refuse("a program against another one needs --reference");
    if (*day_number(a.at("date")) > *day_number(b.at("date"))) {
      refuse(cat("--before is of ", a.at("date"), ", after --after's ", b.at("date")));
    }
    if (is_baseline(a)) {
      if (a.at("baseline_version") != b.at("baseline_version") && !o_.allow_commit_change) {
        refuse(cat("baseline_version ", a.at("baseline_version"), " against ",
                   b.at("baseline_version"),
                   ": say --allow-commit-change if that is the question"));
      }
      return;
    }
    const std::string x = version_of(a), y = version_of(b);
    const bool known = !x.empty() && !y.empty();
    if ((!known || x != y) && !o_.allow_commit_change) {
      refuse(cat("mlxcel_commit ", described_version(a), " against ", described_version(b),
                 ": say --allow-commit-change if that is the question"));
    }
    if (known && x == y && x.ends_with("-dirty"))
      warn(cat(x, " names no one source: the tree had changes that are not committed"));
  }

  void superseded(const std::string& model, const TableRow& a) {
    for (const BenchTable& t : others_) {
      if (t.file == before_.file || t.file == after_.file || t.name.kind != before_.name.kind ||
          t.name.harness != before_.name.harness) {
        continue;
      }
      for (const TableRow& row : t.rows) {
        if (row.at("hardware") == a.at("hardware") && row.status() == "ok" &&
            names_.resolved(row.at("model")) + load_of(row) == model && row.number(o_.metric) &&
            *day_number(row.at("date")) > *day_number(a.at("date"))) {
          warn(cat(model, ": the row of ", a.at("date"), " (", a.at(o_.metric),
                   ") is superseded by ", t.file, " (", row.at(o_.metric), ")"));
        }
      }
    }
  }

  void summarize() {
    std::vector<double> ratios;
    double logs = 0;
    for (const ComparedPair& p : c_.pairs) {
      ratios.push_back(p.ratio);
      logs += std::log(p.ratio);
    }
    c_.median_ratio = median(ratios);
    c_.geometric_mean = std::exp(logs / static_cast<double>(ratios.size()));
  }

  const BenchTable& before_;
  const BenchTable& after_;
  const std::span<const BenchTable> others_;
  const ModelNames& names_;
  const CompareOptions& o_;
  std::set<std::string> seen_before_, seen_after_;
  TableComparison c_;
};

}  // namespace

TableComparison compare_tables(const BenchTable& before, const BenchTable& after,
                               std::span<const BenchTable> others, const ModelNames& names,
                               const CompareOptions& options) {
  return TableComparer(before, after, others, names, options).run();
}

}  // namespace mlxcel
