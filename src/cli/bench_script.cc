// mlxcel bench script: the record of a measurement that another program makes.
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

struct BenchScriptArguments {
  std::string kind, command, model, record, baseline_version = "none";
};

Error wrong(std::string_view where, std::string_view expected) {
  return {Code::kInvalid, cat("the command's output: ", where, ": expected ", expected)};
}

// {"name": {"unit": "ms", "samples": [1, 2]}}
Result<std::vector<Metric>> read_metrics(const json::object& all) {
  std::vector<Metric> metrics;
  for (const auto& [key, value] : all) {
    const std::string where = cat("metrics.", std::string_view(key));
    const json::object* m = value.if_object();
    const json::value* samples = m == nullptr ? nullptr : m->if_contains("samples");
    if (samples == nullptr || !samples->is_array() || samples->get_array().empty())
      return wrong(where, "an object with a list of samples");
    const json::value* unit = m->if_contains("unit");
    if (unit == nullptr || !unit->is_string()) return wrong(where, "a unit");
    Metric metric = {std::string(key), std::string(unit->get_string()), {}, false};
    for (const json::value& s : samples->get_array()) {
      if (!s.is_number()) return wrong(where, "numbers");
      metric.samples.push_back(s.to_number<double>());
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

Result<int> run(const BenchScriptArguments& a) {
  RecordParts p;
  if (!a.model.empty()) {
    TRY(const Checkpoint checkpoint, open_named(a.model));
    TRY(p.model, model_facts_of(checkpoint));
  }
  ContentionWatch watch;
  TRY(const ProcessResult done, run_process(a.command));
  p.run.contention = watch.stop();
  if (done.status != 0)
    return Error{Code::kInvalid, cat("the command ended with status ", done.status)};
  boost::system::error_code ec;
  const json::value output = json::parse(done.output, ec);
  if (ec || !output.is_object()) return wrong("all of it", "a JSON object");
  const json::value *metrics = output.get_object().if_contains("metrics"),
                    *results = output.get_object().if_contains("results");
  if (metrics == nullptr || !metrics->is_object()) return wrong("metrics", "an object");
  if (results == nullptr || !results->is_object()) return wrong("results", "an object");
  TRY(p.metrics, read_metrics(metrics->get_object()));
  p.results = results->get_object();
  p.results["script"] = reduced_paths(a.command);
  p.results["wall_s"] = done.wall_s;
  p.run.order = "one run", p.run.warmup = "as the script says";
  p.kind = a.kind, p.command = command_words(), p.program = program_facts();
  p.program.baseline_version = a.baseline_version;
  p.machine = machine_facts();
  const json::object record = make_record(p);
  std::printf("%s\n", pretty(record).c_str());
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return 0;
}

}  // namespace

Run add_bench_script(CommandLine& sub) {
  auto a = std::make_shared<BenchScriptArguments>();
  sub.add_option("--kind", a->kind, "What the record is of, e.g. load")->required();
  sub.add_option("--command", a->command,
                 "A shell command that prints {\"metrics\": {NAME: {\"unit\": U, \"samples\": "
                 "[...]}}, \"results\": {...}}")
      ->required();
  sub.add_option("-m,--model", a->model, "The model that it measures, for the record");
  sub.add_option("--baseline-version", a->baseline_version, "Of another program, for the record");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Example: mlxcel bench script --kind load -m model.gguf --record evidence\n"
      "  --command \"tests/e2e/run server_load.py build/release/bin --json\"");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
