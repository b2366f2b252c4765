// mlxcel bench peer: another program on the same work, recorded in the same columns.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/cat.h"
#include "base/threads.h"
#include "cli/arguments.h"
#include "cli/bench_sweep.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "evidence/decode.h"
#include "evidence/equal.h"
#include "evidence/peer.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

struct PeerArguments {
  std::string peer, model, scripts, python, record;
  SweepArguments sweep;
  PeerWork work;
  double cooldown_s = 0;
  uint64_t seed = 1;
  bool json = false;
};

// bench/peers of the checkout that holds this program, or of this folder.
std::string scripts_folder(const std::string& given) {
  if (!given.empty()) return given;
  std::error_code error;
  for (fs::path p = fs::read_symlink("/proc/self/exe", error); p.has_relative_path();
       p = p.parent_path()) {
    if (fs::exists(p / "bench" / "peers", error)) return (p / "bench" / "peers").string();
  }
  return "bench/peers";
}

std::string python(const PeerArguments& a) {
  const char* v = std::getenv("PYTHON");
  return !a.python.empty() ? a.python : v != nullptr && *v != 0 ? v : "python3";
}

Result<int> sweep(const PeerArguments& a, const Peer& peer) {
  SweepArguments s = a.sweep;
  s.command = cat("bench peer ", peer.name), s.harness = peer.harness, s.cooldown_s = a.cooldown_s;
  s.flags = cat("--prompt-tokens ", a.work.prompt_tokens, " --gen-tokens ", a.work.gen_tokens,
                " --reps ", a.work.reps, " -t ", a.work.threads, " --seed ", a.seed, " --python ",
                shell_quoted(python(a)), " --scripts ", shell_quoted(scripts_folder(a.scripts)));
  if (!a.record.empty()) s.flags += cat(" --record ", shell_quoted(a.record));
  return run_sweep_command(s);
}

Result<int> run(const PeerArguments& a) {
  TRY(const Peer peer, find_peer(a.peer));
  if (!a.model.empty() && !a.sweep.what.empty())
    return Error{Code::kInvalid, "bench peer: expected -m or a model to make a table of, not both"};
  if (!a.sweep.what.empty()) return sweep(a, peer);
  TRY(const Checkpoint checkpoint, open_named(a.model));
  TRY(const int64_t vocab, checkpoint.config().integer("vocab_size", 1));
  RecordParts p;
  TRY(p.model, model_facts_of(checkpoint));
  const std::vector<int32_t> ids = prompt_ids(vocab, a.seed, a.work.prompt_tokens + 1);
  const std::string file = cat("/tmp/mlxcel-peer-", getpid(), ".i32");
  TRY_OK(write_file(file, ids.data(), static_cast<int64_t>(ids.size() * sizeof(int32_t))));
  const std::string script = cat(scripts_folder(a.scripts), "/", peer.script);
  const std::string command =
      cat(shell_quoted(python(a)), " ", shell_quoted(script), " ", peer.model_flag, " ",
          shell_quoted(checkpoint.path()), " --prompt ", a.work.prompt_tokens, " --generate ",
          a.work.gen_tokens, " --reps ", a.work.reps, " --ids ", file, " ", peer.extra,
          std::string(peer.name) == "llama.cpp" ? cat(" --threads ", a.work.threads) : "");
  const InterruptWaits waits;  // the peer ends by itself, and its ids are taken away
  ContentionWatch watch;
  const auto done = run_process("exec " + command);
  std::remove(file.c_str());
  p.run.contention = watch.stop();
  if (!done) return done.error();
  if (done->status != 0) {
    return Error{Code::kInvalid, cat(peer.name, ": expected exit status 0, found ", done->status)};
  }
  p.kind = "decode", p.command = command_words(), p.program = program_facts();
  p.machine = machine_facts();
  p.run.order = "repetitions in order", p.run.warmup = "1 repetition, not counted";
  TRY_OK(read_peer_output(peer, a.work, done->output, p));
  p.results["seed"] = a.seed;
  const json::object record = make_record(p);
  if (a.json) {
    std::printf("%s\n", pretty(record).c_str());
  } else {
    std::printf("%s: prefill %.1f tok/s, decode %.1f tok/s\n", p.program.baseline_version.c_str(),
                p.results["prefill_tok_s"].as_double(), p.results["decode_tok_s"].as_double());
    for (const std::string& w : refusals(p.run, p.metrics))
      std::printf("not publishable: %s\n", w.c_str());
  }
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return 0;
}

}  // namespace

Run add_bench_peer(CommandLine& sub) {
  auto a = std::make_shared<PeerArguments>();
  a->work.threads = usable_processors();
  sub.add_option("peer", a->peer, "llama.cpp or mlx-lm")->required();
  sub.add_option("-m,--model", a->model, "A GGUF for llama.cpp, a directory for mlx-lm");
  add_sweep_arguments(sub, a->sweep);
  const auto number = [&](const char* flag, int& value, int low, const char* text) {
    sub.add_option(flag, value, text)->range(low, 1 << 20)->capture_default_str();
  };
  number("--prompt-tokens", a->work.prompt_tokens, 1, "As bench decode's, of the same ids");
  number("--gen-tokens", a->work.gen_tokens, 2, "Tokens decoded after it");
  number("--reps", a->work.reps, 1, "Repetitions that count");
  number("-t,--threads", a->work.threads, 1, "Threads (mlx-lm takes what there is)");
  sub.add_option("--cooldown", a->cooldown_s, "Seconds of rest before each model of a table")
      ->range(0.0, 3600.0);
  sub.add_option("--seed", a->seed, "Seed of the prompt")->capture_default_str();
  sub.add_option("--python", a->python, "With the peer installed (default: PYTHON, else python3)");
  sub.add_option("--scripts", a->scripts, "Folder of the peers' scripts (default: bench/peers)");
  sub.add_flag("--json", a->json, "The whole record on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Example: mlxcel bench peer llama.cpp -m model.gguf\n"
      "         mlxcel bench peer mlx-lm all --models-dir models");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
