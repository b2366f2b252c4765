// mlxcel bench serve: a load generator for any server that speaks OpenAI's protocol.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/load_client.h"
#include "cli/measured_model.h"
#include "evidence/process.h"
#include "evidence/statistics.h"
#include "evidence/store.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

struct BenchServeArguments {
  LoadOptions load;
  LoadTarget target;
  std::string what, model, start, flags, models_dir, baseline_version = "none";
  std::string record, csv, svg;
  bool json = false, no_ignore_eos = false;
  double start_seconds = 120;
};

std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A port that nobody listens on now.
Result<int> free_port() {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = s >= 0 && bind(s, generic, size) == 0 && getsockname(s, generic, &size) == 0;
  if (s >= 0) close(s);
  if (!found) return Error{Code::kIo, "no free port"};
  return static_cast<int>(ntohs(address.sin_port));
}

std::string command_of(const BenchServeArguments& a, const std::string& model) {
  if (!a.start.empty()) return a.start;
  std::error_code error;
  return cat(quoted(fs::read_symlink("/proc/self/exe", error).string()), " serve -m ",
             quoted(model), " --port {port} --quiet --parallel ", a.load.concurrency,
             " --max-queue-depth ", std::max(64, a.load.concurrency), " ", a.flags);
}

// The server that the command line names: one that runs, or one that is started here.
struct Server {
  std::optional<BackgroundProcess> process;
  LoadTarget target;
  std::string log;
  ~Server() {
    process.reset();
    if (!log.empty()) std::remove(log.c_str());
  }
};

Result<std::unique_ptr<Server>> open_server(const BenchServeArguments& a,
                                            const std::string& model) {
  auto server = std::make_unique<Server>();
  server->target = a.target;
  server->target.ignore_eos = !a.no_ignore_eos;
  if (!a.target.url.empty()) return server;
  TRY(const int port, free_port());
  std::string command = command_of(a, model);
  for (size_t at; (at = command.find("{port}")) != std::string::npos;)
    command.replace(at, 6, std::to_string(port));
  server->target.url = cat("http://127.0.0.1:", port);
  server->log = (fs::temp_directory_path() / cat("mlxcel-bench-serve-", port, ".log")).string();
  auto process = BackgroundProcess::start(command, server->log);
  if (!process) return process.error();
  server->process.emplace(std::move(*process));
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(a.start_seconds);
  while (!answers(server->target, "/health") && !answers(server->target, "/v1/models")) {
    if (server->process->running() && std::chrono::steady_clock::now() < end && !interrupted()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    const auto said = read_whole(server->log);
    return Error{Code::kIo, cat("the server did not start: ", command, "\n",
                                said ? said->substr(0, 2000) : "")};
  }
  return server;
}

json::object options_json(const BenchServeArguments& a) {
  const LoadOptions& o = a.load;
  return {{"endpoint", a.target.chat ? "chat" : "completions"},
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

Result<Measured> measure(const BenchServeArguments& a, const Server& server) {
  Measured m;
  const auto go_on = [&](int done) {
    if (is_terminal(STDERR_FILENO))
      std::fprintf(stderr, "\r\033[Krepetition %zu of %d: %d answers", m.figures.size() + 1,
                   a.load.repeats, done);
    return !interrupted();
  };
  if (a.load.warmup > 0) {
    TRY_OK(run_load(server.target, a.load, plan_load(a.load, -1), go_on));
  }
  ContentionWatch watch;
  for (int r = 0; r < a.load.repeats; r++) {
    TRY(auto outcomes, run_load(server.target, a.load, plan_load(a.load, r), go_on));
    m.figures.push_back(load_figures(outcomes, a.load));
    m.outcomes.push_back(std::move(outcomes));
    if (m.figures.back().good > 0) continue;
    return Error{Code::kInvalid,
                 cat("bench serve: no request was answered: ", m.outcomes.back().front().error)};
  }
  m.contention = watch.stop();
  if (is_terminal(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
  return m;
}

RecordParts parts_of(const BenchServeArguments& a, const Measured& m) {
  RecordParts p;
  p.kind = "serve", p.command = command_words(), p.program = program_facts();
  p.program.baseline_version = a.baseline_version;
  p.machine = machine_facts();
  p.run.order = "repetitions in order, on one server";
  p.run.warmup = cat(a.load.warmup, " requests, not counted");
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
  p.results = {{"load", options_json(a)},
               {"failed", failed},
               {"errors", std::move(errors)},
               {"prompt_tokens", last.prompt_tokens},
               {"cached_tokens", last.cached_tokens},
               {"output_tokens", last.output_tokens}};
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

Status write_files(const BenchServeArguments& a, const Measured& m, const std::string& title) {
  const auto write = [](const std::string& path, const std::string& text) -> Status {
    if (path.empty()) return Ok{};
    return write_file(path, text.data(), static_cast<int64_t>(text.size()));
  };
  TRY_OK(write(a.csv, load_csv(m.outcomes)));
  return write(a.svg, load_svg(m.outcomes, title));
}

Status bench(const BenchServeArguments& a, const std::string& model) {
  ModelFacts facts;
  if (!model.empty() && (!a.record.empty() || a.json)) {  // reads every byte: not while it runs
    TRY(const Checkpoint checkpoint, open_named(model));
    TRY(facts, model_facts_of(checkpoint));
  }
  TRY(const auto server, open_server(a, model));
  TRY(const Measured m, measure(a, *server));
  RecordParts p = parts_of(a, m);
  p.model = std::move(facts);
  const json::object record = make_record(p);
  if (a.json) {
    std::printf("%s\n", pretty(record).c_str());
  } else {
    print(m);
    for (const std::string& w : refusals(p.run, p.metrics))
      std::printf("not publishable: %s\n", w.c_str());
  }
  TRY_OK(write_files(a, m,
                     cat(a.load.concurrency, " at once, prompts of about ", a.load.prompt_words,
                         " tokens, answers of ", a.load.output_tokens)));
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return Ok{};
}

// Every checkpoint under a folder: .gguf files, and folders with a config.json.
Result<std::vector<std::string>> models_under(const std::string& root) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& e :
       fs::recursive_directory_iterator(root,
                                        fs::directory_options::follow_directory_symlink |
                                            fs::directory_options::skip_permission_denied,
                                        error)) {
    const fs::path& path = e.path();
    if (path.extension() == ".gguf") found.push_back(path.string());
    if (path.filename() == "config.json") found.push_back(path.parent_path().string());
  }
  if (error || found.empty())
    return Error{Code::kNotFound, cat(root, ": expected a folder with models, found none")};
  std::sort(found.begin(), found.end());
  return found;
}

Result<int> run(const BenchServeArguments& a) {
  if (a.what != "all") {
    if (a.model.empty() && a.start.empty() && a.target.url.empty())
      return Error{Code::kInvalid, "expected -m MODEL, --start COMMAND, --url URL, or all"};
    TRY_OK(bench(a, a.model));
    return 0;
  }
  TRY(const auto models, models_under(a.models_dir));
  int failed = 0;
  for (const std::string& model : models) {
    if (interrupted()) break;
    std::printf("%s\n", model.c_str());
    BenchServeArguments one = a;
    const std::string name = "_" + fs::path(model).stem().string();
    for (std::string* path : {&one.csv, &one.svg}) {  // a file for each model
      const fs::path wanted = *path;
      if (!path->empty())
        *path =
            (wanted.parent_path() / cat(wanted.stem().string(), name, wanted.extension().string()))
                .string();
    }
    const Status status = bench(one, model);
    if (status) continue;
    failed++;
    std::printf("not measured: %s\n", status.error().message.c_str());
  }
  return failed == 0 ? 0 : 1;
}

void add_load_arguments(CLI::App& sub, LoadOptions& o) {
  const auto number = [&](const char* flag, int& value, int low, const char* text) {
    sub.add_option(flag, value, text)->check(CLI::Range(low, 1 << 20))->capture_default_str();
  };
  const auto real = [&](const char* flag, double& value, const char* text) {
    sub.add_option(flag, value, text)->check(CLI::Range(0.0, 1e6))->capture_default_str();
  };
  number("--requests", o.requests, 1, "Requests of a repetition");
  number("--concurrency", o.concurrency, 1, "Requests under way at once; with --rate at most");
  real("--rate", o.rate, "Requests a second, arriving at random (Poisson); 0: as answers end");
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

Run add_bench_serve(CLI::App& sub) {
  auto a = std::make_shared<BenchServeArguments>();
  sub.add_option("what", a->what, "all: every model under --models-dir")
      ->check(CLI::IsMember({"all"}));
  sub.add_option("-m,--model", a->model, "Serve this model, and name it in the record");
  sub.add_option("--models-dir", a->models_dir, "Models for all");
  sub.add_option("--server-flags", a->flags, "More flags for mlxcel serve");
  sub.add_option("--start", a->start,
                 "Start this server instead: a shell command with {port} in it");
  sub.add_option("--url", a->target.url, "Measure a server that runs, e.g. http://127.0.0.1:8080");
  sub.add_option("--start-timeout", a->start_seconds, "Seconds for the server to start")
      ->capture_default_str();
  sub.add_option("--api-key", a->target.key, "The server's key");
  sub.add_option("--model-name", a->target.model, "What requests name (default: nothing)");
  sub.add_flag("--chat", a->target.chat, "Ask /v1/chat/completions instead of /v1/completions");
  sub.add_flag("--no-ignore-eos", a->no_ignore_eos, "Let answers end by themselves");
  sub.add_option("--request-timeout", a->target.timeout_s, "Seconds of one request at most")
      ->capture_default_str();
  add_load_arguments(sub, a->load);
  sub.add_option("--baseline-version", a->baseline_version, "Of another server, for the record");
  sub.add_flag("--json", a->json, "The whole record on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.add_option("--csv", a->csv, "Write a row for each request");
  sub.add_option("--svg", a->svg, "Draw the distributions of times");
  sub.footer(
      "Example: mlxcel bench serve -m model.gguf --concurrency 8 --prompt-tokens 512\n"
      "  mlxcel bench serve --start \"llama-server -m model.gguf --port {port}\" --concurrency 8");
  return [a] {
    if (a->load.prefix_words > a->load.prompt_words)
      return Result<int>(
          Error{Code::kInvalid, "--prefix-tokens: expected at most --prompt-tokens"});
    return run(*a);
  };
}

}  // namespace mlxcel
