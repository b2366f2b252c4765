// mlxcel verify: the table of axes that must not change an answer, and how many bytes each one
// changed.
#include "evidence/verify.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/cat.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "kernels/isa.h"
#include "ops/plain.h"

namespace mlxcel {
namespace {

struct VerifyArguments {
  ModelArguments model;
  VerifyOptions options;
  bool json = false;
  std::string record;
};

class Host final : public VerifyHost {
 public:
  explicit Host(const OpenModel& model) : model_(model), plain_(*model.backend) {}
  Result<std::unique_ptr<Engine>> open(const EngineOptions& options, bool plain) override {
    return open_engine(model_, options, plain ? plain_ : *model_.backend);
  }
  int64_t vocab() const override { return model_.family->facts().vocab; }
  std::vector<int> thread_counts() const override {
    return model_.cpu ? std::vector<int>{1, 2, 3, 5, 8} : std::vector<int>();
  }
  std::vector<std::string> isa_targets() const override {
    std::vector<std::string> names;
    if (model_.cpu == nullptr) return names;
    for (const Isa isa : attainable_isas()) names.push_back(name(isa));
    return names;
  }
  void set_threads(int threads) override {
    if (model_.cpu && threads != this->threads()) model_.cpu->set_threads(threads);
  }
  void set_isa(const std::string& isa) override {
    if (model_.cpu) CHECK(mlxcel::set_isa(isa));
  }
  int threads() const override { return model_.backend->info().threads; }
  std::string isa() const override { return model_.backend->info().isa; }
  std::vector<KernelUse> take_kernel_use() override { return model_.backend->take_kernel_use(); }

 private:
  const OpenModel& model_;
  PlainBackend plain_;
};

// The table names a kernel by its number in the list below it.
class Table {
 public:
  void print(const VerifyCell& c) {
    std::string numbers;
    int64_t least = INT64_MAX, most = 0;
    for (const KernelUse& k : c.kernels) {
      least = std::min(least, k.min_rows), most = std::max(most, k.max_rows);
      numbers += cat(numbers.empty() ? "" : ",", number(k));
    }
    std::printf("%-12s %-14s %5lld %14lld %10lld %11s  %s%s%s\n", c.axis.c_str(), c.value.c_str(),
                static_cast<long long>(c.runs), static_cast<long long>(c.bytes),
                static_cast<long long>(c.differing), cat(least, "..", most).c_str(),
                numbers.c_str(), c.note.empty() ? "" : cat("  ", c.note).c_str(),
                c.first_difference.empty() ? "" : cat("  ", c.first_difference).c_str());
    std::fflush(stdout);
  }

  // Every kernel that ran, with the rows of its calls: a loop over single rows could not pass for a
  // batch.
  void print_kernels() const {
    std::printf("\n%3s %-52s %12s %s\n", "", "kernel", "calls", "rows per call");
    for (size_t i = 0; i < kernels_.size(); i++) {
      const KernelUse& k = kernels_[i];
      std::printf("%3zu %-52s %12lld %lld to %lld\n", i + 1, k.kernel.c_str(),
                  static_cast<long long>(k.calls), static_cast<long long>(k.min_rows),
                  static_cast<long long>(k.max_rows));
    }
  }

 private:
  size_t number(const KernelUse& use) {
    merge_kernel_use(kernels_, use);
    for (size_t i = 0;; i++) {
      if (kernels_[i].kernel == use.kernel) return i + 1;
    }
  }

  std::vector<KernelUse> kernels_;
};

json::object to_json(const VerifyCell& c) {
  json::array kernels;
  for (const KernelUse& k : c.kernels) {
    kernels.push_back({{"kernel", k.kernel},
                       {"calls", k.calls},
                       {"min_rows", k.min_rows},
                       {"max_rows", k.max_rows}});
  }
  return {{"axis", c.axis},           {"value", c.value},
          {"runs", c.runs},           {"bytes", c.bytes},
          {"differing", c.differing}, {"first_difference", c.first_difference},
          {"note", c.note},           {"kernels", std::move(kernels)}};
}

json::object results_json(const VerifyReport& report, const BackendInfo& info) {
  json::array cells;
  for (const VerifyCell& c : report.cells) cells.push_back(to_json(c));
  return {{"equal", report.equal()},
          {"device", info.device},
          {"isa", info.isa},
          {"threads", info.threads},
          {"exactness_class", info.exactness_class},
          {"cells", std::move(cells)}};
}

// Others on the machine do not change what is equal: contention is not watched.
Status write_verify_record(const VerifyArguments& a, const VerifyReport& report,
                           const json::object& results, ModelFacts model) {
  double bytes = 0, differing = 0;
  for (const VerifyCell& c : report.cells) {
    bytes += static_cast<double>(c.bytes), differing += static_cast<double>(c.differing);
  }
  RecordParts p;
  p.kind = "verify", p.command = command_words(), p.program = program_facts();
  p.machine = machine_facts(), p.model = std::move(model), p.results = results;
  p.run.order = "axes one by one, then random combinations", p.run.warmup = "none";
  p.metrics = {{"compared_bytes", "bytes", {bytes}, false},
               {"differing_bytes", "bytes", {differing}, false}};
  TRY(const std::string name, write_record(a.record, make_record(p)));
  std::fprintf(stderr, "record: %s\n", name.c_str());
  return Ok{};
}

Result<int> run(const VerifyArguments& a) {
  LoadBar bar;
  EngineOptions options;
  options.context = 512;
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  ModelFacts facts;
  if (!a.record.empty()) {
    TRY(facts, model_facts_of(checkpoint));
  }
  TRY(const OpenModel model,
      open_model(std::move(checkpoint), a.model.open, options, std::ref(bar)));
  Host host(model);
  Table table;
  const BackendInfo info = model.backend->info();
  if (!a.json) {
    std::printf("%s, %s, %d threads, exactness class %s\n\n", info.device.c_str(), info.isa.c_str(),
                info.threads, info.exactness_class.c_str());
    std::printf("%-12s %-14s %5s %14s %10s %11s  %s\n", "axis", "value", "runs", "bytes",
                "differing", "rows a call", "kernels");
    std::fflush(stdout);  // the first row takes a while
  }
  TRY(const VerifyReport report, verify(host, a.options, [&](const VerifyCell& c) {
        if (!a.json) table.print(c);
      }));
  const json::object results = results_json(report, info);
  if (a.json) {
    std::printf("%s\n", json::serialize(results).c_str());
  } else {
    table.print_kernels();
    std::printf("\n%s\n", report.equal() ? "All equal: a row is a row." : "NOT EQUAL.");
  }
  if (!a.record.empty()) TRY_OK(write_verify_record(a, report, results, std::move(facts)));
  return report.equal() ? 0 : 1;
}

}  // namespace

Run add_verify(CommandLine& sub) {
  auto a = std::make_shared<VerifyArguments>();
  add_model_arguments(sub, a->model);
  sub.add_option("--prompt-tokens", a->options.prompt_tokens, "Tokens of each subject's prompt")
      ->range(2, 4096)
      ->capture_default_str();
  sub.add_option("-n,--answer-tokens", a->options.answer_tokens, "Tokens of each answer")
      ->range(1, 4096)
      ->capture_default_str();
  sub.add_option("--deep-tokens", a->options.deep_tokens,
                 "Tokens of the depth axis' prompt; 0: no such axis")
      ->range(0, 1 << 20)
      ->capture_default_str();
  sub.add_option("--combinations", a->options.combinations, "Random combinations of all axes")
      ->range(0, 1000000)
      ->capture_default_str();
  sub.add_option("--seed", a->options.seed, "Seed of prompts, neighbours and combinations")
      ->capture_default_str();
  sub.add_flag("--json", a->json, "One JSON object instead of the table");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Exit status: 0 if no byte differs, 1 otherwise.\nExample: mlxcel verify -m model.gguf");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
