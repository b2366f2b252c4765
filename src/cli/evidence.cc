// mlxcel evidence: records and the figures made from them: check, render, plot, csv.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/cat.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "evidence/csv.h"
#include "evidence/figures.h"
#include "evidence/history.h"
#include "evidence/plot.h"
#include "evidence/report.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

struct EvidenceArguments {
  std::string root = ".", output;
  PlotOptions plot;
};

std::string folder(const EvidenceArguments& a) { return (fs::path(a.root) / "evidence").string(); }

// README.md and everything under docs/ that may hold figures.
std::vector<std::string> documents(const std::string& root) {
  std::vector<std::string> all;
  std::error_code error;
  if (fs::exists(fs::path(root) / "README.md", error)) all.push_back("README.md");
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator at(fs::path(root) / "docs", kSkip, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".md")
      all.push_back(at->path().lexically_relative(root).string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string link_from(const std::string& document) {
  std::string up;
  for (const char c : document) up += c == '/' ? "../" : "";
  return up + "evidence";
}

Result<int> check_or_render(const EvidenceArguments& a, bool write) {
  TRY(const RecordStore store, read_records(folder(a)));
  TRY(const HistoryCheck history, check_history(a.root, store));
  std::vector<std::string> problems = store.problems;
  problems.insert(problems.end(), history.problems.begin(), history.problems.end());
  int figures = 0;
  for (const std::string& name : documents(a.root)) {
    const std::string path = (fs::path(a.root) / name).string();
    TRY(const std::string text, read_text(path));
    RenderedDocument d = render(text, store, link_from(name));
    figures += d.figures;
    if (write && d.text != text) {
      TRY_OK(write_file(path, d.text.data(), static_cast<int64_t>(d.text.size())));
      std::printf("%s: rendered\n", name.c_str());
      d = render(d.text, store, link_from(name));
    }
    for (const std::string& p : d.problems) problems.push_back(cat(name, ": ", p));
  }
  for (const std::string& n : history.notes) std::printf("note: %s\n", n.c_str());
  for (const std::string& p : problems) std::printf("%s\n", p.c_str());
  std::printf("%zu records, %d figures, %zu problems\n", store.records.size(), figures,
              problems.size());
  return problems.empty() ? 0 : 1;
}

Result<int> plot_command(const EvidenceArguments& a) {
  TRY(const RecordStore store, read_records(folder(a)));
  TRY(const std::string svg, plot(store, a.plot));
  if (a.output.empty()) {
    std::fputs(svg.c_str(), stdout);
    return 0;
  }
  TRY_OK(write_file(a.output, svg.data(), static_cast<int64_t>(svg.size())));
  return 0;
}

Result<int> csv_command(const EvidenceArguments& a) {
  TRY(const RecordStore store, read_records(folder(a)));
  const auto tables = csv_tables(store);
  if (tables.empty())
    return Error{Code::kNotFound, "evidence csv: expected decode records, found none"};
  for (const auto& [name, text] : tables) {
    const std::string path = cat(a.output.empty() ? "." : a.output, "/", name);
    TRY_OK(write_file(path, text.data(), static_cast<int64_t>(text.size())));
    std::printf("%s\n", path.c_str());
  }
  return 0;
}

Result<int> report_command(const EvidenceArguments& a) {
  TRY(const RecordStore store, read_records(folder(a)));
  for (const std::string& p : store.problems) std::fprintf(stderr, "left out: %s\n", p.c_str());
  const fs::path output =
      a.output.empty() ? fs::path(a.root) / "docs" / "results" : fs::path(a.output);
  std::error_code error;
  fs::create_directories(output, error);
  const fs::path link = fs::relative(folder(a), output, error);
  TRY(const auto files, evidence_report(store, link.string()));
  for (const auto& [name, text] : files) {
    const std::string path = (output / name).string();
    TRY_OK(write_file(path, text.data(), static_cast<int64_t>(text.size())));
    std::printf("%s\n", path.c_str());
  }
  return store.problems.empty() ? 0 : 1;
}

std::shared_ptr<EvidenceArguments> arguments(CommandLine& sub) {
  auto a = std::make_shared<EvidenceArguments>();
  sub.add_option("--root", a->root, "The repository: README.md, docs/ and evidence/")
      ->capture_default_str();
  return a;
}

Run add_check(CommandLine& sub) {
  const auto a = arguments(sub);
  sub.footer(
      "Exit status: 0 if every record verifies, names a commit of this history, and every figure "
      "is\n"
      "its record's. A clone without the whole history is told of instead.\n"
      "Example: mlxcel evidence check");
  return [a] { return check_or_render(*a, false); };
}

Run add_render(CommandLine& sub) {
  const auto a = arguments(sub);
  sub.footer("Example: mlxcel evidence render && git diff README.md docs");
  return [a] { return check_or_render(*a, true); };
}

Run add_plot(CommandLine& sub) {
  const auto a = arguments(sub);
  sub.add_option("--metric", a->plot.metric, "Name of the metric")->capture_default_str();
  sub.add_option("--kind", a->plot.kind, "Of records")->capture_default_str();
  sub.add_option("--model", a->plot.model, "Of records (default: any)");
  sub.add_option("--hardware", a->plot.label, "Of records, e.g. zen4-2c (default: any)");
  sub.add_option("-o,--output", a->output, "The SVG (default: standard output)");
  sub.footer("Example: mlxcel evidence plot --metric decode_tok_s -o speed.svg");
  return [a] { return plot_command(*a); };
}

Run add_report(CommandLine& sub) {
  const auto a = arguments(sub);
  sub.add_option("-o,--output", a->output, "Folder of the pages (default: docs/results)");
  sub.footer("Example: mlxcel evidence report -o docs/results");
  return [a] { return report_command(*a); };
}

Run add_csv(CommandLine& sub) {
  const auto a = arguments(sub);
  sub.add_option("-o,--output", a->output, "Folder of the tables (default: here)");
  sub.footer("Example: mlxcel evidence csv -o tables");
  return [a] { return csv_command(*a); };
}

}  // namespace

Run add_evidence(CommandLine& sub) {
  constexpr Command kCommands[] = {
      {"check", "Verify every record, and every figure against its record", add_check},
      {"render", "Write the figures of README.md and docs/ anew", add_render},
      {"plot", "Draw a metric over records", add_plot},
      {"csv", "Write decode records as tables", add_csv},
      {"report", "Write a page for each machine and one for all", add_report},
  };
  sub.footer("Example:\n  mlxcel evidence check");
  return add_nested(sub, kCommands);
}

}  // namespace mlxcel
