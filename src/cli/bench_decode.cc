// mlxcel bench decode: speed of one model beside the limit that memory sets.
#include "evidence/decode.h"

#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/bench_sweep.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/equal.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

struct BenchDecodeArguments {
  ModelArguments model;
  DecodeOptions options;
  SweepArguments sweep;
  bool json = false;
  std::string record;
};

// What a model's own process in a sweep is told.
std::string child_flags(const BenchDecodeArguments& a) {
  const DecodeOptions& o = a.options;
  const OpenOptions& open = a.model.open;
  std::string f = cat("--prompt-tokens ", o.prompt_tokens, " --gen-tokens ", o.gen_tokens,
                      " --reps ", o.reps, " --passes ", o.passes, " --batch ", o.batch, " --width ",
                      o.width, " --seed ", o.seed, " --device ", shell_quoted(open.device));
  if (open.threads > 0) f += cat(" -t ", open.threads);
  if (!open.isa.empty()) f += cat(" --isa ", shell_quoted(open.isa));
  if (open.ignore_memory) f += " --force";
  if (!a.record.empty()) f += cat(" --record ", shell_quoted(a.record));
  return f;
}

Result<int> sweep(const BenchDecodeArguments& a) {
  if (!a.model.model.empty())
    return Error{Code::kInvalid,
                 "bench decode: expected -m or a model to make a table of, not both"};
  SweepArguments s = a.sweep;
  s.flags = child_flags(a), s.cooldown_s = a.options.cooldown_s;
  return run_sweep_command(s);
}

std::vector<double> scaled(std::vector<double> v, double by) {
  for (double& x : v) x *= by;
  return v;
}

json::array array_of(const std::vector<double>& v) { return json::array(v.begin(), v.end()); }

json::object results_json(const DecodeOptions& o, const DecodeResult& r, int64_t cache_bytes,
                          const BackendInfo& info) {
  return {{"prompt_tokens", o.prompt_tokens},
          {"gen_tokens", o.gen_tokens},
          {"batch", o.batch},
          {"width", o.width},
          {"seed", o.seed},
          {"prefill_tok_s", median(r.prefill_tok_s)},
          {"decode_tok_s", median(r.decode_tok_s)},
          {"first_token_s", median(r.first_token_s)},
          {"cpu_s_per_token", median(r.cpu_s_per_token)},
          {"weight_bytes_per_step", r.weight_bytes},
          {"kv_bytes_per_row", r.kv_bytes},
          {"bytes_per_token", r.bytes_per_token},
          {"step_bytes", r.step_bytes},
          {"decode_read_bytes_s", median(r.decode_tok_s) * r.bytes_per_token},
          {"read_bytes_s", median(r.read_bytes_s)},
          {"read_buffer_bytes", r.read_buffer_bytes},
          {"step_read_bytes_s", median(r.step_read_bytes_s)},
          {"last_level_cache_bytes", cache_bytes},
          {"decode_limit_fraction", r.limit_fraction},
          {"peak_memory_bytes", r.peak_memory_bytes},
          {"passes", o.passes},
          {"pass_prefill_tok_s", array_of(r.pass_prefill_tok_s)},
          {"pass_decode_tok_s", array_of(r.pass_decode_tok_s)},
          {"backend", backend_json(info)}};
}

void print(const DecodeResult& r, const DecodeOptions& o, int64_t cache_bytes) {
  std::printf("prefill  %9.1f tok/s  (%d tokens, spread %.1f %%)\n", median(r.prefill_tok_s),
              o.prompt_tokens, 100 * spread(r.prefill_tok_s));
  std::printf("decode   %9.1f tok/s  (%d tokens, spread %.1f %%)\n", median(r.decode_tok_s),
              o.gen_tokens, 100 * spread(r.decode_tok_s));
  std::printf("first token %.3f s; peak memory %.0f MB\n", median(r.first_token_s),
              static_cast<double>(r.peak_memory_bytes) / 1e6);
  std::printf(
      "reads %.1f MB a token (weights %.1f MB a step, KV %.2f MB a row), %.1f GB/s\n"
      "this machine reads %.1f GB/s from memory, %.1f GB/s where a step's bytes are all it "
      "reads%s\n"
      "decode_limit_fraction %.3f of the latter\n",
      r.bytes_per_token / 1e6, static_cast<double>(r.weight_bytes) / 1e6, r.kv_bytes / 1e6,
      median(r.decode_tok_s) * r.bytes_per_token / 1e9, median(r.read_bytes_s) / 1e9,
      median(r.step_read_bytes_s) / 1e9,
      r.step_bytes <= cache_bytes ? ": they fit into the last-level cache" : "", r.limit_fraction);
}

Result<int> run(const BenchDecodeArguments& a) {
  if (!a.sweep.what.empty()) return sweep(a);
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  RecordParts p;
  if (!a.record.empty()) {  // before the clock runs: it reads every byte
    TRY(p.model, model_facts_of(checkpoint));
  } else {
    TRY(p.model, model_name_of(checkpoint));
  }
  EngineOptions options;
  options.context = a.options.prompt_tokens + a.options.gen_tokens + 1;
  options.max_sequences = 1;
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, options, std::ref(bar));
  }());
  TRY(OpenMeasuredModel measured, OpenMeasuredModel::make(model));
  const BackendInfo info = model.backend->info();
  p.machine = machine_facts();
  if (!a.json) {
    std::printf("%s: %s, %s, %d threads\n", file_name(a.model.model).c_str(), info.device.c_str(),
                info.isa.c_str(), info.threads);
  }
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ContentionWatch watch;
  ProgressLine progress;
  const int64_t cache_bytes = last_level_cache_bytes(p.machine);
  TRY(const DecodeResult r, bench_decode(measured, a.options, cache_bytes, [&](int done) {
        progress.show("repetition", done + 1, a.options.reps + 1);
        return !interrupted();
      }));
  progress.clear();
  p.run.contention = watch.stop();
  p.run.order = "repetitions in order, each behind a measurement of the read bandwidth";
  p.run.warmup = "1 repetition, not counted";
  if (a.options.passes > 1)
    p.run.order += cat("; each is the median of ", a.options.passes, " passes");
  p.run.cooldown_s = a.options.cooldown_s;
  p.kind = "decode", p.command = command_words(), p.program = program_facts();
  p.metrics = {{"prefill_tok_s", "tok/s", r.prefill_tok_s},
               {"decode_tok_s", "tok/s", r.decode_tok_s},
               {"first_token_s", "s", r.first_token_s, false},
               {"cpu_s_per_token", "s", r.cpu_s_per_token, false},
               {"read_gb_s", "GB/s", scaled(r.read_bytes_s, 1e-9), false},
               {"step_read_gb_s", "GB/s", scaled(r.step_read_bytes_s, 1e-9), false}};
  p.results = results_json(a.options, r, cache_bytes, info);
  p.results["interrupted"] = interrupted();
  const json::object record = make_record(p);
  const auto why = refusals(p.run, p.metrics);
  if (a.json) {
    std::printf("%s\n", pretty(record).c_str());
  } else {
    print(r, a.options, cache_bytes);
    for (const std::string& w : why) std::printf("not publishable: %s\n", w.c_str());
  }
  if (!a.record.empty()) {
    TRY(const std::string name, write_record(a.record, record));
    std::fprintf(stderr, "record: %s\n", name.c_str());
  }
  return 0;
}

}  // namespace

Run add_bench_decode(CommandLine& sub) {
  auto a = std::make_shared<BenchDecodeArguments>();
  add_model_arguments(sub, a->model);
  add_sweep_arguments(sub, a->sweep);
  const auto number = [&](const char* flag, int& value, int low, const char* text) {
    sub.add_option(flag, value, text)->range(low, 1 << 20)->capture_default_str();
  };
  number("--prompt-tokens", a->options.prompt_tokens, 1,
         "Tokens of the prompt: random, from a seed");
  number("--gen-tokens", a->options.gen_tokens, 2, "Tokens decoded after it");
  number("--reps", a->options.reps, 1, "Repetitions that count");
  number("--passes", a->options.passes, 1,
         "Prompts and their generations whose median is a repetition's figure: more for a machine "
         "that others disturb");
  number("--batch", a->options.batch, 1, "Sequences that decode together");
  number("--width", a->options.width, 1, "Rows of one sequence in a step, as a verify block has");
  sub.add_option("--cooldown", a->options.cooldown_s,
                 "Seconds of rest before each repetition; in a table before each model")
      ->range(0.0, 3600.0)
      ->capture_default_str();
  sub.add_option("--seed", a->options.seed, "Seed of the prompt")->capture_default_str();
  sub.add_flag("--json", a->json, "The whole record on standard output");
  sub.add_option("--record", a->record, "Write the record into this folder, e.g. evidence");
  sub.footer(
      "Examples: mlxcel bench decode -m model.gguf --prompt-tokens 512 --gen-tokens 128\n"
      "          mlxcel bench decode all --models-dir models --cooldown 30\n"
      "BENCH_MEM_OVERHEAD_FACTOR times the weights must fit into 85 % of the memory, else the "
      "model\n"
      "is SKIP:oom_estimate. A program older than the sources beside it is refused unless\n"
      "BENCH_ALLOW_STALE_BINARY=1.");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
