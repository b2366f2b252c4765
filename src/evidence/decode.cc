#include "evidence/decode.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "base/cat.h"
#include "evidence/bandwidth.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

double cpu_seconds() {  // of all threads of this process
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int64_t peak_memory() {  // VmHWM, in kB
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) << 10;
  }
  return 0;
}

struct Rep {
  double prefill_s = 0, first_token_s = 0, decode_s = 0, decode_cpu_s = 0;
  int64_t decoded = 0;
};

class DecodeBench {
 public:
  DecodeBench(MeasuredModel& model, const DecodeOptions& o) : model_(model), o_(o) {}

  Status open() {
    chunks_ = (o_.prompt_tokens + kChunk - 1) / kChunk;
    EngineOptions e;
    // A sequence goes on decoding while later prompts are read.
    room_ = o_.gen_tokens + 2 + o_.batch * chunks_ + o_.width;
    e.context = static_cast<int32_t>(o_.prompt_tokens + room_);
    e.max_sequences = o_.batch;
    e.max_rows = std::max(kChunk, o_.batch + 1), e.prefill_chunk = kChunk;
    e.max_head_rows = std::max(o_.batch, o_.width) + 1;
    e.prefix_cache = o_.width > 1;
    ids_ = prompt_ids(model_.vocab(), o_.seed,
                      o_.batch * static_cast<int64_t>(o_.prompt_tokens) + room_);
    TRY(engine_, model_.open(e));
    return Ok{};
  }

  Result<Rep> pass() { return o_.width > 1 ? blocks() : tokens(); }

 private:
  static constexpr int kChunk = 512;

  Request prompt(int sequence) {
    Request r;
    const auto from = ids_.begin() + static_cast<int64_t>(sequence) * o_.prompt_tokens;
    r.tokens.assign(from, from + o_.prompt_tokens);
    r.sampling.temperature = 0, r.sampling.ignore_eos = true;
    r.sampling.max_tokens = room_ - 1;
    r.prefix_cache = false;
    return r;
  }

  // Decode is timed from the step after which every sequence has its first token, until they have
  // gen_tokens more on average.
  Result<Rep> tokens() {
    std::vector<int64_t> counts(static_cast<size_t>(o_.batch), 0);
    int64_t total = 0;
    std::string failure;
    std::vector<RequestId> requests;
    const auto start = Clock::now();
    Rep rep;
    for (int s = 0; s < o_.batch; s++) {
      Request r = prompt(s);
      r.on_token = [&counts, &total, s](const TokenEvent&) {
        counts[static_cast<size_t>(s)]++, total++;
        return true;
      };
      r.on_finish = [&](const FinishEvent& e) {
        if (e.reason == FinishReason::kError) failure = e.message;
      };
      TRY(const RequestId id, engine_->submit(std::move(r)));
      requests.push_back(id);
    }
    while (std::find(counts.begin(), counts.end(), 0) != counts.end() && engine_->step()) {
      if (total > 0 && rep.first_token_s == 0) rep.first_token_s = seconds(Clock::now() - start);
    }
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    const int64_t before = total;
    rep.prefill_s = seconds(begin - start);
    while (total - before < static_cast<int64_t>(o_.batch) * o_.gen_tokens && engine_->step()) {
    }
    rep.decode_s = seconds(Clock::now() - begin), rep.decode_cpu_s = cpu_seconds() - cpu;
    rep.decoded = total - before;
    for (const RequestId id : requests) engine_->cancel(id);
    engine_->run_all();
    return finish(rep, failure);
  }

  // The prompt is left in the prefix cache; then a sequence that shares it goes on by blocks of
  // `width` given rows, with logits for each, as a verify step does.
  Result<Rep> blocks() {
    engine_->clear_prefix_cache();
    Rep rep;
    std::string failure;
    const auto start = Clock::now();
    Request first = prompt(0);
    first.prefix_cache = true, first.sampling.max_tokens = 1;
    TRY_OK(engine_->submit(std::move(first)));
    engine_->run_all();
    rep.prefill_s = rep.first_token_s = seconds(Clock::now() - start);
    const int blocks = (o_.gen_tokens + o_.width - 1) / o_.width;
    Request r = prompt(0);
    r.tokens.insert(r.tokens.end(), ids_.end() - blocks * o_.width, ids_.end());
    r.prefix_cache = true, r.chunk = o_.width, r.logits_from = o_.prompt_tokens;
    r.sampling.max_tokens = 0;
    Clock::time_point begin, end;
    double cpu = 0;
    int64_t rows = 0, counted_from = 0;
    r.on_logits = [&](int32_t, std::span<const float>) { rows++; };
    r.on_finish = [&](const FinishEvent& e) {
      if (e.reason == FinishReason::kError) failure = e.message;
    };
    TRY_OK(engine_->submit(std::move(r)));
    while (engine_->step()) {
      end = Clock::now(), rep.decode_cpu_s = cpu_seconds() - cpu;
      if (rows == 0 || counted_from > 0) continue;
      counted_from = rows, begin = end, cpu = cpu_seconds();  // the first block opens the sequence
    }
    rep.decode_s = seconds(end - begin), rep.decoded = rows - counted_from;
    return finish(rep, failure);
  }

  static Result<Rep> finish(const Rep& rep, const std::string& failure) {
    if (!failure.empty()) return Error{Code::kInvalid, cat("bench decode: ", failure)};
    if (rep.decoded <= 0 || rep.decode_s <= 0 || rep.prefill_s <= 0)
      return Error{Code::kInvalid, "bench decode: expected decoded tokens, found none"};
    return rep;
  }

  MeasuredModel& model_;
  const DecodeOptions o_;
  int chunks_ = 1, room_ = 0;
  std::vector<int32_t> ids_;
  std::unique_ptr<Engine> engine_;
};

Status check(const DecodeOptions& o) {
  if (o.width > 1 && o.batch > 1)
    return Error{Code::kInvalid, "--width: expected 1 with a --batch above 1"};
  if (o.width > o.gen_tokens / 2) {
    return Error{Code::kInvalid, cat("--gen-tokens: expected at least two blocks of --width ",
                                     o.width, ", found ", o.gen_tokens)};
  }
  return Ok{};
}

void count_bytes(const MeasuredModel& model, const DecodeOptions& o, DecodeResult& r) {
  r.weight_bytes = model.weight_bytes_per_step();
  for (int i = 1; i <= o.gen_tokens; i++)
    r.kv_bytes += static_cast<double>(model.kv_bytes(o.prompt_tokens + i)) / o.gen_tokens;
  // A block's rows share one read of their sequence's KV.
  const double step = static_cast<double>(r.weight_bytes) + o.batch * r.kv_bytes;
  r.step_bytes = static_cast<int64_t>(step);
  r.bytes_per_token = step / (o.batch * o.width);
}

// Adds an entry to each list of `r`.
Status repetition(DecodeBench& bench, const DecodeOptions& o, DecodeResult& r) {
  std::vector<double> prefill, decode, first, cpu;
  for (int i = 0; i < o.passes; i++) {
    TRY(const Rep rep, bench.pass());
    const auto decoded = static_cast<double>(rep.decoded);
    prefill.push_back(o.batch * o.prompt_tokens / rep.prefill_s);
    decode.push_back(decoded / rep.decode_s);
    first.push_back(rep.first_token_s), cpu.push_back(rep.decode_cpu_s / decoded);
  }
  r.pass_prefill_tok_s.insert(r.pass_prefill_tok_s.end(), prefill.begin(), prefill.end());
  r.pass_decode_tok_s.insert(r.pass_decode_tok_s.end(), decode.begin(), decode.end());
  r.prefill_tok_s.push_back(median(std::move(prefill)));
  r.decode_tok_s.push_back(median(std::move(decode)));
  r.first_token_s.push_back(median(std::move(first)));
  r.cpu_s_per_token.push_back(median(std::move(cpu)));
  return Ok{};
}

}  // namespace

std::vector<int32_t> prompt_ids(int64_t vocab, uint64_t seed, int64_t count) {
  std::mt19937_64 rng(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; i++)
    ids.push_back(static_cast<int32_t>(rng() % static_cast<uint64_t>(vocab)));
  return ids;
}

Result<DecodeResult> bench_decode(MeasuredModel& model, const DecodeOptions& o, int64_t cache_bytes,
                                  const std::function<bool(int)>& on_rep) {
  if (o.width > 1 || o.batch > 1) TRY_OK(check(o));
  TRY(ReadBandwidth bandwidth, ReadBandwidth::open(model.threads(), cache_bytes));
  DecodeBench bench(model, o);
  TRY_OK(bench.open());
  DecodeResult r, unused;
  r.read_buffer_bytes = bandwidth.bytes();
  count_bytes(model, o, r);
  for (int i = 0; i <= o.reps; i++) {
    if (o.cooldown_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(o.cooldown_s));
    const double read = bandwidth.measure();
    const double step_read = bandwidth.measure_working_set(r.step_bytes);
    TRY_OK(repetition(bench, o, i == 0 ? unused : r));
    if (i > 0) r.read_bytes_s.push_back(read), r.step_read_bytes_s.push_back(step_read);
    if (on_rep && !on_rep(i)) break;
  }
  if (r.decode_tok_s.empty()) return Error{Code::kCancelled, "bench decode: interrupted"};
  r.limit_fraction = median(r.decode_tok_s) * r.bytes_per_token / median(r.step_read_bytes_s);
  r.peak_memory_bytes = peak_memory();
  return r;
}

}  // namespace mlxcel
