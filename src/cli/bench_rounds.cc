// mlxcel bench rounds: two or more commands against each other, paired, with a null arm.
#include "evidence/rounds.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/process.h"
#include "evidence/store.h"

namespace mlxcel {
namespace {

constexpr int kNotPublishable = 2;

struct RoundsArguments {
  RoundsOptions options;
  std::vector<std::string> arms, flags;
  std::string command, metric = "wall", unit, model, record, baseline_version = "none";
  bool json = false;
};

struct Arm {
  std::string name, command;
};

// "name=command" each; or one command with several sets of flags.
Result<std::vector<Arm>> parse_arms(const RoundsArguments& a) {
  std::vector<Arm> arms;
  for (const std::string& text : a.arms) {
    const size_t at = text.find('=');
    if (at == 0 || at == std::string::npos)
      return Error{Code::kInvalid, cat("--arm: expected NAME=COMMAND, found ", text)};
    arms.push_back({text.substr(0, at), text.substr(at + 1)});
  }
  for (const std::string& flags : a.flags) {
    if (a.command.empty()) return Error{Code::kInvalid, "--flags: expected --command beside it"};
    arms.push_back({flags.empty() ? "plain" : flags, cat(a.command, " ", flags)});
  }
  return arms;
}

// The number that a run is judged by.
Result<double> measured(const RoundsArguments& a, const Arm& arm, const ProcessResult& r) {
  if (a.metric == "wall") return r.wall_s;
  if (a.metric == "cpu") return r.cpu_s;
  boost::system::error_code error;
  const json::value v = json::parse(r.output, error);
  const json::value* found = error || !v.is_object() ? nullptr : value_at(v.get_object(), a.metric);
  if (found == nullptr || !found->is_number()) {
    return Error{Code::kInvalid,
                 cat("arm ", arm.name, ": expected a JSON object with a number at ", a.metric,
                     " on its standard output, found ", r.output.substr(0, 200))};
  }
  return found->to_number<double>();
}

void print(const RoundsArguments& a, const RoundsResult& r, const std::string& unit) {
  std::printf("%-24s %12s %8s  %s\n", "arm", "median", "spread", unit.c_str());
  for (const Metric& m : r.metrics(a.options, unit)) {
    std::printf("%-24s %12.5g %7.1f%%\n", m.name.c_str(), median(m.samples),
                100 * spread(m.samples));
  }
  for (size_t i = 0; i < r.comparisons.size(); i++) {
    const Comparison& c = r.comparisons[i];
    std::printf("%s / %s = %.4f (%.4f to %.4f), null range %.4f to %.4f: %s\n",
                a.options.arms[i + 1].c_str(), a.options.arms[0].c_str(), c.ratio, c.ratio_low,
                c.ratio_high, c.low, c.high, c.resolved ? "resolved" : "unresolved");
  }
}

Result<int> run(RoundsArguments a) {
  TRY(const std::vector<Arm> arms, parse_arms(a));
  for (const Arm& arm : arms) a.options.arms.push_back(arm.name);
  const bool time = a.metric == "wall" || a.metric == "cpu";
  const std::string unit = !a.unit.empty() ? a.unit : time ? "s" : "";
  RecordParts p;
  if (!a.model.empty()) {
    TRY(const Checkpoint checkpoint, open_named(a.model));
    TRY(p.model, model_facts_of(checkpoint));
  }
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ContentionWatch watch;
  ProgressLine progress;
  TRY(const RoundsResult r,
      run_rounds(
          a.options,
          [&](int i) -> Result<double> {
            const Arm& arm = arms[static_cast<size_t>(i)];
            TRY(const ProcessResult done, run_process(arm.command));
            if (done.status != 0) {
              return Error{Code::kInvalid,
                           cat("arm ", arm.name, ": expected exit status 0, found ", done.status)};
            }
            return measured(a, arm, done);
          },
          [&](const RoundsProgress& runs) {
            progress.show("run", runs.done, runs.total);
            return !interrupted();
          }));
  progress.clear();
  p.run.contention = watch.stop();
  p.run.order = r.order, p.run.warmup = "1 run of each arm, not counted";
  p.run.cooldown_s = a.options.cooldown_s;
  p.kind = "rounds", p.command = command_words(), p.program = program_facts();
  p.program.baseline_version = a.baseline_version;
  p.machine = machine_facts();
  p.metrics = r.metrics(a.options, unit);
  json::array commands;
  for (const Arm& arm : arms)
    commands.push_back({{"arm", arm.name}, {"command", reduced_paths(arm.command)}});
  p.results = {{"metric", a.metric},
               {"arms", std::move(commands)},
               {"rounds", static_cast<int64_t>(r.samples[0].size())},
               {"repeat", a.options.repeat},
               {"runs", r.runs_json(a.options)},
               {"interrupted", r.interrupted},
               {"comparisons", r.to_json(a.options)}};
  const json::object record = make_record(p);
  const auto why = refusals(p.run, p.metrics);
  if (a.json) {
    std::printf("%s\n", pretty(record).c_str());
  } else {
    print(a, r, unit);
    for (const std::string& w : why) std::printf("not publishable: %s\n", w.c_str());
  }
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return why.empty() ? 0 : kNotPublishable;
}

}  // namespace

Run add_bench_rounds(CommandLine& sub) {
  auto a = std::make_shared<RoundsArguments>();
  sub.add_option("--arm", a->arms,
                 "NAME=COMMAND, a shell command; two or more, the first is the base")
      ->allow_extra_args(false);
  sub.add_option("--command", a->command, "One command for several --flags");
  sub.add_option("--flags", a->flags, "Flags that make an arm of --command; may be \"\"")
      ->allow_extra_args(false);
  sub.add_option("--repeat", a->options.repeat,
                 "Runs of an arm in a row, whose median is its figure of a round: more for a "
                 "machine that others disturb")
      ->range(1, 1000)
      ->capture_default_str();
  sub.add_option("--rounds", a->options.rounds, "Figures of each arm that count")
      ->range(3, 100000)
      ->capture_default_str();
  sub.add_option("--metric", a->metric,
                 "wall or cpu (seconds of a run), or a path in the JSON that the commands print, "
                 "e.g. results.decode_tok_s")
      ->capture_default_str();
  sub.add_option("--unit", a->unit, "Of the metric, e.g. tok/s");
  sub.add_option("--cooldown", a->options.cooldown_s, "Seconds of rest before each run")
      ->range(0.0, 3600.0);
  sub.add_option("-m,--model", a->model, "The model of all arms, for the record");
  sub.add_option("--baseline-version", a->baseline_version, "Of another program, for the record");
  sub.add_flag("--json", a->json, "The whole record on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Exit status: 0 publishable, 2 not: a spread above 4 % of the median, or more than 20 % of "
      "the time contended.\nCtrl-C keeps the whole rounds so far.\n"
      "Example: mlxcel bench rounds --command \"mlxcel bench decode -m model.gguf --json\"\n"
      "  --flags \"\" --flags \"--isa avx2\" --metric results.decode_tok_s --unit tok/s");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
