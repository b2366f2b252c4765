// mlxcel bench serve: a load generator for any server that speaks OpenAI's protocol.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/bench_sweep.h"
#include "cli/command.h"
#include "cli/load_client.h"
#include "cli/load_server.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

struct BenchServeArguments {
  LoadOptions load;
  LoadTarget target;
  SweepArguments sweep;
  std::vector<int> concurrency = {8};  // a ladder: the loads one after the other, on one server
  std::vector<double> rate = {0};
  std::string what, model, start, flags, harness, baseline_version = "none";
  std::string record, csv, svg;
  bool json = false, chat = false, no_ignore_eos = false;
  double start_seconds = 120;
};

// Each rate at each concurrency.
std::vector<LoadOptions> ladder(const BenchServeArguments& a) {
  std::vector<LoadOptions> all;
  for (const int concurrency : a.concurrency) {
    for (const double rate : a.rate) {
      all.push_back(a.load);
      all.back().concurrency = concurrency, all.back().rate = rate;
      all.back().embeds = embeds(a.target.endpoint);
    }
  }
  return all;
}

std::string load_name(const LoadOptions& o) {
  return o.rate > 0 ? cat(o.rate, " requests a second, at most ", o.concurrency, " at once")
                    : cat(o.concurrency, " at once");
}

json::object options_json(const LoadTarget& target, const LoadOptions& o) {
  return {{"endpoint", target.endpoint},
          {"texts", o.texts},
          {"requests", o.requests},
          {"concurrency", o.concurrency},
          {"rate", o.rate},
          {"prompt_words", o.prompt_words},
          {"prefix_words", o.prefix_words},
          {"output_tokens", o.output_tokens},
          {"warmup", o.warmup},
          {"repeats", o.repeats},
          {"seed", o.seed},
          {"ttft_limit_s", o.ttft_limit_s},
          {"itl_limit_s", o.itl_limit_s}};
}

struct Measured {
  std::vector<std::vector<Outcome>> outcomes;  // of each repetition
  std::vector<LoadFigures> figures;
  ContentionFacts contention;
};

// Answers of all loads together, for the time left.
struct ServeProgress {
  ProgressLine line;
  int64_t done = 0, total = 0;
};

// All repetitions of one load; after Ctrl-C the whole ones, an Error without one.
Result<Measured> measure(const LoadServer& server, const LoadOptions& load,
                         ServeProgress& progress) {
  Measured m;
  const auto part = [&](int repeat) {
    const auto before = progress.done;
    auto outcomes = run_load(server.target, load, plan_load(load, repeat), [&](int done) {
      progress.done = before + done;
      progress.line.show(cat(load_name(load), ", answer"), progress.done, progress.total);
      return !interrupted();
    });
    return outcomes;
  };
  if (load.warmup > 0) {
    TRY_OK(part(-1));
  }
  ContentionWatch watch;
  for (int r = 0; r < load.repeats; r++) {
    auto outcomes = part(r);
    if (!outcomes && interrupted() && !m.figures.empty()) break;
    if (!outcomes) return outcomes.error();
    m.figures.push_back(load_figures(*outcomes, load));
    m.outcomes.push_back(std::move(*outcomes));
    if (m.figures.back().good > 0) continue;
    return Error{Code::kInvalid,
                 cat("bench serve: no request was answered: ", m.outcomes.back().front().error)};
  }
  m.contention = watch.stop();
  progress.line.clear();
  return m;
}

RecordParts parts_of(const BenchServeArguments& a, const LoadOptions& load, const Measured& m) {
  RecordParts p;
  p.kind = "serve", p.command = command_words(), p.program = program_facts();
  p.program.baseline_version = a.baseline_version;
  p.machine = machine_facts();
  p.run.order = "repetitions in order, on one server";
  p.run.warmup = cat(load.warmup, " requests, not counted");
  p.run.contention = m.contention;
  p.metrics = load_metrics(m.figures);
  const LoadFigures& last = m.figures.back();
  int failed = 0;
  json::array errors;
  for (const auto& outcomes : m.outcomes) {
    for (const Outcome& o : outcomes) {
      failed += o.good() ? 0 : 1;
      if (!o.good() && errors.size() < 5) errors.emplace_back(reduced_paths(o.error));
    }
  }
  p.results = {{"load", options_json(a.target, load)}, {"failed", failed},
               {"errors", std::move(errors)},          {"interrupted", interrupted()},
               {"prompt_tokens", last.prompt_tokens},  {"cached_tokens", last.cached_tokens},
               {"output_tokens", last.output_tokens},  {"backend", {{"name", a.harness}}}};
  return p;
}

void print(const Measured& m) {
  for (size_t r = 0; r < m.figures.size(); r++) {
    const LoadFigures& f = m.figures[r];
    std::printf("%zu: %d answers, %d failed; %.1f tok/s, %.2f requests/s, goodput %.2f/s\n", r + 1,
                f.good, f.failed, f.throughput_tok_s, f.requests_s, f.goodput_s);
    const auto row = [](const char* name, const double(&ms)[4]) {
      std::printf("   %-12s p50 %8.1f  p90 %8.1f  p95 %8.1f  p99 %8.1f ms\n", name, ms[0], ms[1],
                  ms[2], ms[3]);
    };
    row("first token", f.ttft_ms), row("inter-token", f.itl_ms), row("end to end", f.e2e_ms);
  }
}

// The first load keeps the file's name; the others add theirs.
std::string file_of_load(const std::string& path, size_t load) {
  if (path.empty() || load == 0) return path;
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::string number = cat("_", load + 1);
  return has ? path.substr(0, dot) + number + path.substr(dot) : path + number;
}

Status write_files(const BenchServeArguments& a, const LoadOptions& load, const Measured& m,
                   size_t number) {
  const auto write = [&](const std::string& path, const std::string& text) -> Status {
    if (path.empty()) return Ok{};
    return write_file(file_of_load(path, number), text.data(), static_cast<int64_t>(text.size()));
  };
  const std::string title = cat(load_name(load), ", prompts of about ", load.prompt_words,
                                " tokens, answers of ", load.output_tokens);
  TRY_OK(write(a.csv, load_csv(m.outcomes)));
  return write(a.svg, load_svg(m.outcomes, title));
}

// The loads of the ladder on one server; their records. After Ctrl-C what there is.
Result<std::vector<json::object>> bench(const BenchServeArguments& a, const std::string& model) {
  ModelFacts facts;
  if (!model.empty() && (!a.record.empty() || a.json ||
                         !a.sweep.output.empty())) {  // reads every byte: not while it runs
    TRY(const Checkpoint checkpoint, open_named(model));
    TRY(facts, model_facts_of(checkpoint));
  }
  const std::vector<LoadOptions> loads = ladder(a);
  std::string command = a.start;
  if (command.empty() && a.target.url.empty()) {
    command =
        own_server(model, *std::max_element(a.concurrency.begin(), a.concurrency.end()), a.flags);
  }
  TRY(const auto server, open_load_server(a.target, command, a.start_seconds));
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ServeProgress progress;
  for (const LoadOptions& o : loads) progress.total += o.warmup + int64_t{o.requests} * o.repeats;
  std::vector<json::object> records;
  for (size_t i = 0; i < loads.size() && !interrupted(); i++) {
    auto m = measure(*server, loads[i], progress);
    progress.line.clear();
    if (!m && interrupted() && !records.empty()) break;
    if (!m) return m.error();
    RecordParts p = parts_of(a, loads[i], *m);
    p.model = facts;
    records.push_back(make_record(p));
    if (a.json) {
      std::printf("%s\n", pretty(records.back()).c_str());
    } else {
      std::printf("%s:\n", load_name(loads[i]).c_str());
      print(*m);
      for (const std::string& w : refusals(p.run, p.metrics))
        std::printf("not publishable: %s\n", w.c_str());
    }
    std::fflush(stdout);
    TRY_OK(write_files(a, loads[i], *m, i));
    if (!a.record.empty()) {
      TRY(const std::string name, write_record(a.record, records.back()));
      std::fprintf(stderr, "record: %s\n", name.c_str());
    }
  }
  return records;
}

Result<int> run(BenchServeArguments a) {
  if (a.load.prefix_words > a.load.prompt_words)
    return Error{Code::kInvalid, "--prefix-tokens: expected at most --prompt-tokens"};
  if (a.chat) a.target.endpoint = "chat";
  a.target.ignore_eos = !a.no_ignore_eos;
  const bool ours = a.start.empty() && a.target.url.empty();
  if (a.harness.empty()) a.harness = ours ? "mlxcel" : "server";
  if (a.what == "all" && !ours)
    return Error{Code::kInvalid, "all: expected no --start and no --url, since it starts servers"};
  if (a.what != "all" && a.model.empty() && ours)
    return Error{Code::kInvalid, "expected -m MODEL, --start COMMAND, --url URL, or all"};
  if (a.what != "all" && a.sweep.output.empty()) {
    TRY_OK(bench(a, a.model));
    return 0;
  }
  if (a.model.empty() && a.what != "all")
    return Error{Code::kInvalid, "--output: expected -m, which names the table"};
  a.sweep.what = a.what == "all" ? a.what : a.model;
  a.sweep.harness = a.harness;
  if (a.sweep.output.empty()) a.sweep.output = "benchmarks";
  const auto kind = embeds(a.target.endpoint) ? TableKind::kEmbeddings : TableKind::kBatch;
  return run_sweep_table(a.sweep, kind, [&](const FoundModel& m) {
    BenchServeArguments one = a;
    if (a.what == "all") {  // files for each model
      for (std::string* path : {&one.csv, &one.svg}) {
        const size_t dot = path->rfind('.');
        if (!path->empty()) path->insert(std::min(dot, path->size()), "_" + m.name);
      }
    }
    return bench(one, m.path);
  });
}

void add_load_arguments(CommandLine& sub, LoadOptions& o) {
  const auto number = [&](const char* flag, int& value, int low, const char* text) {
    sub.add_option(flag, value, text)->range(low, 1 << 20)->capture_default_str();
  };
  const auto real = [&](const char* flag, double& value, const char* text) {
    sub.add_option(flag, value, text)->range(0.0, 1e6)->capture_default_str();
  };
  number("--requests", o.requests, 1, "Requests of a repetition");
  number("--texts", o.texts, 1, "Texts of a request that embeds, documents of one that ranks");
  number("--prompt-tokens", o.prompt_words, 1, "Words of each prompt: about as many tokens");
  number("--prefix-tokens", o.prefix_words, 0, "Of them at the start, the same in all prompts");
  number("--output-tokens", o.output_tokens, 1, "Tokens of each answer");
  number("--warmup", o.warmup, 0, "Requests before that do not count");
  number("--repeats", o.repeats, 1, "Repetitions, each with prompts of its own");
  sub.add_option("--seed", o.seed, "Of prompts and arrivals")->capture_default_str();
  real("--ttft-limit", o.ttft_limit_s, "Seconds to the first token that goodput allows; 0: any");
  real("--itl-limit", o.itl_limit_s, "Seconds between tokens that goodput allows; 0: any");
}

}  // namespace

Run add_bench_serve(CommandLine& sub) {
  auto a = std::make_shared<BenchServeArguments>();
  a->sweep.output.clear();  // no table, unless it is asked for
  sub.add_option("what", a->what, "all: every model under --models-dir")->one_of({"all"});
  sub.add_option("-m,--model", a->model, "Serve this model, and name it in the record");
  sub.add_option("--server-flags", a->flags, "More flags for mlxcel serve");
  sub.add_option("--start", a->start,
                 "Start this server instead: a shell command with {port} in it");
  sub.add_option("--url", a->target.url, "Measure a server that runs, e.g. http://127.0.0.1:8080");
  sub.add_option("--start-timeout", a->start_seconds, "Seconds for the server to start")
      ->range(1, 86400)
      ->capture_default_str();
  sub.add_option("--api-key", a->target.key, "The server's key");
  sub.add_option("--model-name", a->target.model, "What requests name (default: nothing)");
  sub.add_option("--endpoint", a->target.endpoint, "completions, chat, embeddings or rerank")
      ->one_of({"completions", "chat", "embeddings", "rerank"})
      ->capture_default_str();
  sub.add_flag("--chat", a->chat, "As --endpoint chat");
  sub.add_flag("--no-ignore-eos", a->no_ignore_eos, "Let answers end by themselves");
  sub.add_option("--request-timeout", a->target.timeout_s, "Seconds of one request at most")
      ->range(1, 86400)
      ->capture_default_str();
  sub.add_option("--concurrency", a->concurrency,
                 "Requests under way at once, with --rate at most; several: one load after another")
      ->delimiter(',')
      ->range(1, 1 << 20)
      ->capture_default_str();
  sub.add_option("--rate", a->rate,
                 "Requests a second, arriving at random (Poisson), also several; 0: as answers end")
      ->delimiter(',')
      ->range(0.0, 1e6)
      ->capture_default_str();
  add_load_arguments(sub, a->load);
  sub.add_option("--baseline-version", a->baseline_version, "Of another server, for the record");
  sub.add_flag("--json", a->json, "The whole record of each load on standard output");
  sub.add_option("--record", a->record, "Write the records into this folder, e.g. evidence");
  sub.add_option("--csv", a->csv, "Write a row for each request");
  sub.add_option("--svg", a->svg, "Draw the distributions of times");
  sub.add_option("--models-dir", a->sweep.models_dir,
                 "For all (default: MODELS_DIR, else the store)");
  sub.add_option("--output", a->sweep.output,
                 "Folder for a table with a row for each load (all: benchmarks)");
  sub.add_option("--harness", a->harness,
                 "What the table's name begins with (default: mlxcel; of another server: server)");
  sub.add_option("--cooldown", a->sweep.cooldown_s, "Seconds of rest before each model of a table")
      ->range(0.0, 3600.0);
  sub.add_option("--big-cooldown", a->sweep.big_cooldown_s, "Instead, around a model above 16 GiB")
      ->range(0.0, 3600.0);
  sub.add_flag("--no-dedup", a->sweep.no_dedup, "Measure a checkpoint under each of its names");
  sub.add_flag("--replace", a->sweep.replace, "Write a table of today anew");
  sub.footer(
      "Ctrl-C keeps the whole repetitions so far.\n"
      "Example: mlxcel bench serve -m model.gguf --concurrency 1,2,4 --prompt-tokens 512 --output "
      "benchmarks\n"
      "  mlxcel bench serve -m model.gguf --concurrency 64 --rate 1,2,4 --ttft-limit 1\n"
      "  mlxcel bench serve --start \"llama-server -m model.gguf --port {port}\" --concurrency 8");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
