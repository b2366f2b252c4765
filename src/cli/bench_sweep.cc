#include "cli/bench_sweep.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/cat.h"
#include "base/environment.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/table_file.h"
#include "evidence/equal.h"
#include "evidence/process.h"
#include "evidence/stale.h"
#include "evidence/store.h"
#include "evidence/sweep.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

Status refuse_stale_program(const std::string& program) {
  if (environment("BENCH_ALLOW_STALE_BINARY") == "1") return Ok{};
  TRY(const std::string why, stale_reason(program, program_facts().commit));
  if (why.empty()) return Ok{};
  return Error{Code::kInvalid, cat("this program is stale: ", why,
                                   "; build it again, or set BENCH_ALLOW_STALE_BINARY=1")};
}

Result<double> memory_factor() {
  const std::string text = environment("BENCH_MEM_OVERHEAD_FACTOR");
  if (text.empty()) return 1.0;
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (*end != 0 || !(v > 0 && v < 1000))
    return Error{Code::kInvalid,
                 cat("BENCH_MEM_OVERHEAD_FACTOR: expected a number above 0, found ", text)};
  return v;
}

// The last line that a process wrote to its standard error.
std::string last_line(const std::string& path) {
  auto text = read_text(path);
  if (!text) return "";
  while (!text->empty() && text->back() == '\n') text->pop_back();
  const size_t at = text->find_last_of("\r\n");
  return reduced_paths(at == std::string::npos ? *text : text->substr(at + 1));
}

Result<std::vector<json::object>> measure(const std::string& program, const SweepArguments& a,
                                          const FoundModel& model) {
  const std::string errors = cat("/tmp/mlxcel-sweep-", getpid(), ".err");
  auto done = run_process(cat("exec ", shell_quoted(program), " ", a.command, " -m ",
                              shell_quoted(model.path), " --json ", a.flags, " 2>", errors));
  const std::string said = last_line(errors);
  std::remove(errors.c_str());
  if (!done) return done.error();
  if (done->status != 0)
    return Error{Code::kInvalid, cat("exit status ", done->status, said.empty() ? "" : ": ", said)};
  boost::system::error_code error;
  const json::value v = json::parse(done->output, error);
  if (error || !v.is_object()) return Error{Code::kCorrupt, "expected a record, found none"};
  return std::vector{v.get_object()};
}

std::vector<BenchTable> tables_in(const fs::path& folder) {
  std::vector<BenchTable> all;
  std::error_code error;
  for (const auto& e : fs::directory_iterator(folder, error)) {
    if (e.path().extension() != ".csv") continue;
    const auto text = read_text(e.path().string());
    if (!text) continue;
    if (auto t = parse_table(e.path().string(), *text); t) all.push_back(std::move(*t));
  }
  return all;
}

Result<std::vector<FoundModel>> models_of(const SweepArguments& a, SweepOptions& o) {
  if (a.what == "all") {
    std::string folder = a.models_dir.empty() ? environment("MODELS_DIR") : a.models_dir;
    if (folder.empty()) folder = models_directory();
    TRY(auto models, find_models(folder));
    if (models.empty())
      return Error{Code::kNotFound, cat(folder, ": expected checkpoints, found none")};
    return models;
  }
  o.dedup = false;  // a path means what it names
  FoundModel one;
  TRY(const Checkpoint checkpoint, open_named(a.what));
  one.path = checkpoint.path(), one.name = file_name(one.path);
  if (one.name.ends_with(".gguf")) one.name.resize(one.name.size() - 5);
  one.bytes = checkpoint.bytes();
  return std::vector<FoundModel>{one};
}

// As the page demands: the groups that were collapsed, before the first model runs.
void tell_duplicates(const std::vector<SweepEntry>& plan) {
  for (const SweepEntry& e : plan) {
    if (!e.model.duplicate_of.empty()) {
      std::fprintf(stderr, "%s is %s under another name: measured once\n", e.model.name.c_str(),
                   e.model.duplicate_of.c_str());
    }
  }
}

void rest(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!interrupted() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

void add_sweep_arguments(CommandLine& sub, SweepArguments& s) {
  sub.add_option("what", s.what,
                 "A model, or `all` of --models-dir: each in a process of its own, into a table");
  sub.add_option("--models-dir", s.models_dir, "For all (default: MODELS_DIR, else the store)");
  sub.add_option("--output", s.output, "Folder of tables and notes")->capture_default_str();
  sub.add_option("--big-cooldown", s.big_cooldown_s,
                 "Seconds of rest around a model above 16 GiB in a table")
      ->range(0.0, 3600.0);
  sub.add_flag("--no-dedup", s.no_dedup, "Measure a checkpoint under each of its names");
  sub.add_flag("--vlm", s.vlm, "Reserved for vision models");
  sub.add_flag("--replace", s.replace, "Write a table of today anew");
}

Result<int> run_sweep_command(const SweepArguments& a) {
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  return run_sweep_table(a, TableKind::kText,
                         [&](const FoundModel& m) { return measure(program, a, m); });
}

Result<int> run_sweep_table(const SweepArguments& a, TableKind kind,
                            const decltype(SweepHooks::measure)& measure) {
  if (a.vlm) {
    return Error{Code::kUnsupported,
                 "--vlm: reserved for models that see; expected none, since no family here does"};
  }
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  TRY_OK(refuse_stale_program(program));
  const MachineFacts machine = machine_facts();
  SweepOptions o;
  o.dedup = !a.no_dedup, o.cooldown_s = a.cooldown_s, o.big_cooldown_s = a.big_cooldown_s;
  o.memory_bytes = machine.container_memory_bytes > 0
                       ? std::min(machine.memory_bytes, machine.container_memory_bytes)
                       : machine.memory_bytes;
  TRY(o.memory_factor, memory_factor());
  TRY(std::vector<FoundModel> models, models_of(a, o));
  const std::string suffix = a.what == "all" ? "" : "_single_" + models.front().name;
  o.last = failed_before(tables_in(a.output), machine.label);
  const std::vector<SweepEntry> plan = plan_sweep(std::move(models), o);
  TableFile table(a.output, kind, a.harness, suffix, machine.label);
  TRY_OK(table.check(a.replace));
  tell_duplicates(plan);
  SweepHooks hooks;
  hooks.measure = measure;
  hooks.on_row = [&](const SweepRow& row) -> Status {
    const json::value* speed =
        value_at(row.record, kind == TableKind::kText ? "results.decode_tok_s"
                                                      : "metrics.throughput_tok_s.median");
    std::printf(
        "%-40s %10s  %s%s%s\n", row.model.c_str(),
        speed == nullptr ? "" : cat(std::round(speed->to_number<double>() * 10) / 10).c_str(),
        row.status.c_str(), row.reason.empty() ? "" : ": ", row.reason.c_str());
    std::fflush(stdout);
    return table.add(row);
  };
  hooks.on_progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  hooks.rest = rest, hooks.interrupted = interrupted;
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  TRY(const SweepResult result, run_sweep(plan, o, hooks));
  TRY_OK(table.finish());
  TRY_OK(table.write_note(sweep_note(table.name(), result, o, reduced_command(command_words()),
                                     machine, program_facts())));
  std::printf("%s\n", table.path().c_str());
  for (const SweepRow& row : result.rows) {
    if (row.status.starts_with("FAIL:")) return 1;
  }
  return 0;
}

}  // namespace mlxcel
