// mlxcel bench compare: two tables of speeds, or the reason why they cannot be compared.
#include "evidence/compare.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  CompareOptions options;
  std::string before, after, catalog, svg;
  bool json = false;
};

Result<BenchTable> read_table(const std::string& path) {
  TRY(const std::string text, read_text(path));
  return parse_table(path, text);
}

Result<ModelNames> read_names(const CompareArguments& a) {
  std::error_code error;
  const std::string path = a.catalog.empty() ? "docs/model-catalog.tsv" : a.catalog;
  if (a.catalog.empty() && !fs::exists(path, error))
    return ModelNames::parse("", "name\taliases\n");  // names as they are
  TRY(const std::string text, read_text(path));
  return ModelNames::parse(path, text);
}

// The tables beside the two; those that cannot be read are no ground for anything.
std::vector<BenchTable> neighbours(const CompareArguments& a) {
  std::vector<BenchTable> all;
  for (const std::string& of : {a.before, a.after}) {
    std::error_code error;
    const fs::path parent = fs::path(of).parent_path();
    for (const auto& e : fs::directory_iterator(parent.empty() ? "." : parent, error)) {
      if (e.path().extension() != ".csv") continue;
      if (auto t = read_table(e.path().string()); t) all.push_back(std::move(*t));
    }
    if (fs::path(a.before).parent_path() == fs::path(a.after).parent_path()) break;
  }
  return all;
}

Result<int> run(const CompareArguments& a) {
  TRY(const BenchTable before, read_table(a.before));
  TRY(const BenchTable after, read_table(a.after));
  TRY(const ModelNames names, read_names(a));
  const TableComparison c = compare_tables(before, after, neighbours(a), names, a.options);
  if (a.json) {
    std::printf("%s\n", pretty(comparison_json(c, a.options)).c_str());
  } else {
    std::fputs(comparison_text(c, a.options).c_str(), stdout);
  }
  if (!a.svg.empty() && !c.pairs.empty()) {
    const std::string svg = comparison_svg(c, a.options);
    TRY_OK(write_file(a.svg, svg.data(), static_cast<int64_t>(svg.size())));
  }
  return c.pairs.empty() ? 1 : 0;
}

}  // namespace

Run add_bench_compare(CommandLine& sub) {
  auto a = std::make_shared<CompareArguments>();
  CompareOptions& o = a->options;
  sub.add_option("--before", a->before, "A table: {backend}_{hw}_{date}.csv")->required();
  sub.add_option("--after", a->after, "A later one; with --reference, ours")->required();
  sub.add_flag("--reference", o.reference, "--before is another program, of this host and day");
  sub.add_flag("--allow-commit-change", o.allow_commit_change,
               "The change of version is what is measured");
  sub.add_option("--metric", o.metric, "A column")->capture_default_str();
  sub.add_option("--prompt-tolerance", o.prompt_tolerance, "Pairs further apart are dropped")
      ->range(0.0, 1.0)
      ->capture_default_str();
  sub.add_option("--max-date-gap-days", o.max_date_gap_days, "Between us and the reference")
      ->range(0, 3650)
      ->capture_default_str();
  sub.add_option("--moved-threshold", o.moved_threshold, "A ratio further from 1 has moved")
      ->range(0.0, 10.0)
      ->capture_default_str();
  sub.add_option("--catalog", a->catalog, "Names and aliases (default: docs/model-catalog.tsv)");
  sub.add_flag("--json", a->json, "JSON instead of text");
  sub.add_option("--svg", a->svg, "Draw the ratios into this file");
  sub.footer(
      "Exit status: 1 if the comparison is refused or no pair is left.\n"
      "Example: mlxcel bench compare --before old.csv --after new.csv --svg ratios.svg");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
