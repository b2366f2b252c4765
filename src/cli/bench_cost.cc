// mlxcel bench cost: what a verify round costs over the width of its block, fitted as a line.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/decode.h"
#include "evidence/rounds.h"
#include "evidence/width_cost.h"

namespace mlxcel {
namespace {

struct CostArguments {
  ModelArguments model;
  std::vector<int> widths = {1, 2, 3, 4, 6, 8, 12};
  DecodeOptions decode;
  int rounds = 4;
  bool json = false;
  std::string record;
};

// Seconds of one forward of `width` rows behind the prompt.
Result<double> step_seconds(MeasuredModel& model, const CostArguments& a, int width,
                            int64_t cache_bytes) {
  DecodeOptions o = a.decode;
  o.width = width, o.reps = 1;
  o.gen_tokens = std::max(o.gen_tokens, 4 * width);
  TRY(const DecodeResult r, bench_decode(model, o, cache_bytes));
  return width / median(r.decode_tok_s);
}

Result<int> run(CostArguments a) {
  std::sort(a.widths.begin(), a.widths.end());
  a.widths.erase(std::unique(a.widths.begin(), a.widths.end()), a.widths.end());
  if (a.widths.empty() || a.widths.front() != 1) a.widths.insert(a.widths.begin(), 1);
  std::vector<WidthPoint> points;
  for (const int w : a.widths) points.push_back({w, 1.0});
  TRY_OK(fit_cost(points));  // before any time is spent on widths that cannot be fitted
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  RecordParts p;
  if (!a.record.empty()) {
    TRY(p.model, model_facts_of(checkpoint));
  }
  EngineOptions options;
  options.context = a.decode.prompt_tokens + a.decode.gen_tokens + 1, options.max_sequences = 1;
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, options, std::ref(bar));
  }());
  TRY(OpenMeasuredModel measured, OpenMeasuredModel::make(model));
  p.machine = machine_facts();
  const int64_t cache = last_level_cache_bytes(p.machine);
  // Each width once a round, from a start that moves: drift falls on all of them alike.
  RoundsOptions rounds;
  rounds.rounds = a.rounds;
  for (const int w : a.widths) rounds.arms.push_back(cat("width ", w));
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ContentionWatch watch;
  ProgressLine progress;
  TRY(const RoundsResult r, run_rounds(
                                rounds,
                                [&](int arm) {
                                  return step_seconds(measured, a,
                                                      a.widths[static_cast<size_t>(arm)], cache);
                                },
                                [&](const RoundsProgress& runs) {
                                  progress.show("run", runs.done, runs.total);
                                  return !interrupted();
                                }));
  progress.clear();
  p.run.contention = watch.stop();
  for (size_t i = 0; i < points.size(); i++) {
    points[i].step_s = median(r.samples[i]);
    points[i].spread = spread(r.samples[i]);
  }
  TRY(const CostModel m, fit_cost(points));
  p.kind = "cost", p.command = command_words(), p.program = program_facts();
  p.run.order = r.order, p.run.warmup = "1 run of each width, not counted";
  p.metrics = r.metrics(rounds, "s");
  p.results = cost_json(m);
  p.results["prompt_tokens"] = a.decode.prompt_tokens;
  p.results["interrupted"] = r.interrupted;
  p.results["backend"] = backend_json(model.backend->info());
  const json::object record = make_record(p);
  if (a.json) {
    std::printf("%s\n", pretty(record).c_str());
  } else {
    std::fputs(cost_text(m, points).c_str(), stdout);
    for (const std::string& why : refusals(p.run, p.metrics))
      std::printf("not publishable: %s\n", why.c_str());
  }
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return 0;
}

}  // namespace

Run add_bench_cost(CommandLine& sub) {
  auto a = std::make_shared<CostArguments>();
  a->decode.gen_tokens = 64;
  add_model_arguments(sub, a->model);
  sub.add_option("--widths", a->widths, "Rows of a block; 1 is always measured")
      ->delimiter(',')
      ->range(1, 256)
      ->capture_default_str();
  sub.add_option("--prompt-tokens", a->decode.prompt_tokens, "Context before the block")
      ->range(1, 1 << 20)
      ->capture_default_str();
  sub.add_option("--gen-tokens", a->decode.gen_tokens, "Rows measured of each width, at least")
      ->range(2, 1 << 20)
      ->capture_default_str();
  sub.add_option("--rounds", a->rounds, "Visits of each width that count")
      ->range(3, 10000)
      ->capture_default_str();
  sub.add_flag("--json", a->json, "The whole record on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Ctrl-C keeps the whole rounds so far.\n"
      "Example: mlxcel bench cost -m model.gguf --widths 1,2,4,8,16");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
