// mlxcel perplexity: how well a model predicts a text. mlxcel-core takes token ids alone.
#include "evidence/perplexity.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/cat.h"
#include "base/sha256.h"
#include "cli/arguments.h"
#include "cli/domains.h"
#include "cli/measured_model.h"
#include "cli/perplexity.h"
#include "cli/progress.h"

namespace mlxcel {
namespace {

struct PerplexityArguments {
  ModelArguments model;
  PerplexityOptions options;
  std::string file, nll, baseline, baseline_name = "baseline", record;
  double limit = 0;
  bool ids = false, json = false;
};

Result<std::vector<double>> read_doubles(const std::string& path, size_t expected) {
  TRY(const std::string bytes, read_text(path));
  if (bytes.size() != expected * sizeof(double)) {
    return Error{Code::kInvalid,
                 cat(path, ": expected ", expected, " doubles, found ", bytes.size(), " bytes")};
  }
  std::vector<double> v(expected);
  std::memcpy(v.data(), bytes.data(), bytes.size());
  return v;
}

// How far our scores are from the baseline's, at equal positions.
json::object comparison(const PerplexityArguments& a, const PerplexityResult& r,
                        const PerplexityResult& base) {
  double largest = 0;
  for (size_t i = 0; i < r.nll.size(); i++)
    largest = std::max(largest, std::abs(r.nll[i] - base.nll[i]));
  const double difference = r.perplexity() / base.perplexity() - 1;
  json::object o = {{"name", a.baseline_name},
                    {"perplexity", base.perplexity()},
                    {"relative_difference", difference},
                    {"largest_nll_difference", largest}};
  if (a.limit > 0) {
    o["limit"] = a.limit;
    o["holds"] = std::abs(difference) <= a.limit;
  }
  return o;
}

Result<std::vector<int32_t>> token_ids(const PerplexityArguments& a, const Checkpoint& checkpoint,
                                       const TextToIds& to_ids) {
  if (a.ids || a.file.ends_with(".i32") || !to_ids) return read_ids(a.file);
  TRY(const std::string text, read_text(a.file));
  return to_ids(checkpoint, text);
}

void print(const PerplexityResult& r, const json::object& results) {
  std::printf("perplexity %.4f  (%lld windows, %zu scored positions, mean NLL %.6f)\n",
              r.perplexity(), static_cast<long long>(r.windows), r.nll.size(), r.mean());
  const json::value* b = results.if_contains("baseline");
  if (b == nullptr) return;
  std::printf("%s: %.4f, relative difference %+.5f %%%s\n",
              std::string(b->at("name").get_string()).c_str(),
              b->at("perplexity").to_number<double>(),
              100 * b->at("relative_difference").to_number<double>(),
              !b->get_object().contains("holds") ? ""
              : b->at("holds").get_bool()        ? ", within the limit"
                                                 : ", OUTSIDE THE LIMIT");
}

Result<int> run(const PerplexityArguments& a, const TextToIds& to_ids) {
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  TRY(const std::vector<int32_t> ids, token_ids(a, checkpoint, to_ids));
  RecordParts p;
  if (!a.record.empty()) {
    TRY(p.model, model_facts_of(checkpoint));
  }
  EngineOptions engine;
  engine.context = std::max(a.options.window, 1) + 1, engine.max_sequences = 1;
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, engine, std::ref(bar));
  }());
  TRY(OpenMeasuredModel measured, OpenMeasuredModel::make(model));
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ProgressLine progress;
  TRY(const PerplexityResult r,
      measure_perplexity(measured, ids, a.options, [&](int64_t done, int64_t total, double ppl) {
        progress.show(cat("perplexity ", ppl, ", window"), done, total);
        return !interrupted();
      }));
  progress.clear();
  p.results = {
      {"perplexity", r.perplexity()},
      {"mean_nll", r.mean()},
      {"windows", r.windows},
      {"window", std::min<int64_t>(a.options.window, static_cast<int64_t>(ids.size()))},
      {"interrupted", interrupted()},
      {"scored_positions", static_cast<int64_t>(r.nll.size())},
      {"ids_sha256", sha256_hex({reinterpret_cast<const char*>(ids.data()), ids.size() * 4})},
      {"backend", backend_json(model.backend->info())}};
  bool holds = true;
  if (!a.baseline.empty()) {
    PerplexityResult base;
    TRY(base.nll, read_doubles(a.baseline, r.nll.size()));
    p.results["baseline"] = comparison(a, r, base);
    const json::value* h = p.results.at("baseline").get_object().if_contains("holds");
    holds = h == nullptr || h->get_bool();
    p.program.baseline_version = a.baseline_name;
  }
  if (!a.nll.empty())
    TRY_OK(write_file(a.nll, r.nll.data(), static_cast<int64_t>(r.nll.size() * sizeof(double))));
  if (a.json) {
    std::printf("%s\n", pretty(p.results).c_str());
  } else {
    print(r, p.results);
  }
  if (!a.record.empty()) {
    const std::string baseline = p.program.baseline_version;
    p.kind = "perplexity", p.command = command_words(), p.program = program_facts();
    p.program.baseline_version = baseline;
    p.machine = machine_facts();
    p.run.order = "windows in order", p.run.warmup = "none: not a time";
    // The same every time: it has no spread.
    p.metrics = {{.name = "perplexity", .unit = "1", .samples = {r.perplexity()}, .steady = false}};
    TRY(const std::string name, write_record(a.record, make_record(p)));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return holds ? 0 : 1;
}

}  // namespace

Run make_perplexity(CommandLine& sub, const TextToIds& to_ids) {
  auto a = std::make_shared<PerplexityArguments>();
  add_model_arguments(sub, a->model);
  sub.add_option("file", a->file,
                 to_ids ? "The text; token ids if its name ends in .i32 or with --ids"
                        : "Token ids: text, or raw little-endian int32 if its name ends in .i32")
      ->check(readable_file)
      ->required();
  sub.add_flag("--ids", a->ids, "The file holds token ids as text");
  sub.add_option("-w,--window", a->options.window, "Tokens of a window, a sequence of its own")
      ->range(2, 1 << 20)
      ->capture_default_str();
  sub.add_option("--chunk", a->options.chunk, "Rows in a step (default: as many as fit)")
      ->range(1, 512);
  sub.add_option("--windows", a->options.most, "Windows at most (default: all whole ones)")
      ->range(1, 1 << 30);
  sub.add_option("--nll-out", a->nll, "Write minus the log-probabilities: raw doubles");
  sub.add_option("--baseline", a->baseline, "Compare with such a file of the same positions");
  sub.add_option("--baseline-name", a->baseline_name, "What wrote it")->capture_default_str();
  sub.add_option("--limit", a->limit,
                 "Exit with 1 if the perplexities differ by more than this share")
      ->range(1e-12, 1.0);
  sub.add_flag("--json", a->json, "One JSON object on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer("Example: mlxcel perplexity -m model.gguf text.txt");
  return [a, to_ids] { return run(*a, to_ids); };
}

Run add_core_perplexity(CommandLine& sub) { return make_perplexity(sub, {}); }

}  // namespace mlxcel
