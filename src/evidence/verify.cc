#include "evidence/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr int kLongestNeighbour = 200;                  // tokens of prompt
constexpr int kCrowdedPrompt = 2 * kPagePositions - 4;  // soon asks for a third page

struct Subject {
  std::vector<int32_t> prompt;
  SamplingParams sampling;
  int first = 0;  // position from which logits are compared
};

// The bytes of one subject.
struct Trace {
  std::vector<float> logits;  // [positions from the subject's first, vocab]
  std::vector<int32_t> answer;
  int32_t cached = 0;
  int64_t preemptions = 0;  // of the subject
};

class Verifier {
 public:
  Verifier(VerifyHost& host, const VerifyOptions& options,
           const std::function<void(const VerifyCell&)>& on_cell)
      : host_(host),
        options_(options),
        on_cell_(on_cell),
        threads_(host.threads()),
        isa_(host.isa()) {}

  Result<VerifyReport> run() {
    make_subjects();
    for (const std::vector<Subject>* all : {&subjects_, &deep_}) {
      for (const Subject& s : *all) TRY_OK(run_alone(s));
    }
    host_.take_kernel_use();
    TRY_OK(axes());
    TRY_OK(combinations());
    host_.set_threads(threads_);
    host_.set_isa(isa_);
    return report_;
  }

 private:
  Status run_alone(const Subject& s) {
    TRY(Trace t, trace(s, {}));
    if (static_cast<int>(t.answer.size()) != options_.answer_tokens) {
      return Error{Code::kInvalid, cat("verify: expected ", options_.answer_tokens,
                                       " tokens of answer, found ", t.answer.size())};
    }
    alone_.push_back(std::move(t));
    return Ok{};
  }

  void make_subjects() {
    std::mt19937_64 rng(options_.seed);
    for (int kind = 0; kind < 3; kind++) {
      Subject s;
      s.prompt = random_tokens(rng, options_.prompt_tokens);
      s.sampling.temperature =
          kind == 0 ? 0.0f : 1.0f;  // greedy; all tokens; a filtered set with penalties
      if (kind == 2) {
        s.sampling.top_k = 40, s.sampling.top_p = 0.95f, s.sampling.min_p = 0.01f;
        s.sampling.repetition_penalty = 1.1f, s.sampling.frequency_penalty = 0.1f;
      }
      s.sampling.seed = options_.seed + kind;
      s.sampling.ignore_eos = true;
      s.sampling.max_tokens = options_.answer_tokens;
      subjects_.push_back(std::move(s));
    }
    if (options_.deep_tokens > 0) {
      Subject deep = subjects_[1];
      deep.prompt = random_tokens(rng, options_.deep_tokens);
      deep.first = std::max(0, options_.deep_tokens - 32);
      deep_.push_back(std::move(deep));
    }
  }

  std::vector<int32_t> random_tokens(std::mt19937_64& rng, int n) const {
    std::vector<int32_t> tokens(n);
    for (int32_t& t : tokens)
      t = static_cast<int32_t>(rng() % static_cast<uint64_t>(host_.vocab()));
    return tokens;
  }

  // Each axis alone, every subject along it.
  Status axes() {
    for (int n = 1; n <= 8; n++)
      TRY_OK(cell("batch", cat(n), {.neighbours = n - 1, .neighbour_seed = options_.seed + n}));
    for (int w = 1; w <= 16; w++) TRY_OK(cell("width", cat(w), {.chunk = w}));
    for (const int c : {1, 7, 64}) TRY_OK(cell("chunk", cat(c), {.chunk = c}));
    TRY_OK(cell("chunk", "whole", {}));
    TRY_OK(prefix_axis());
    TRY_OK(preemption_axis());
    TRY_OK(depth_axis());
    TRY_OK(cell("fused ops", "definitions", {.plain = true}));
    TRY_OK(cell("fused ops", "in a batch", {.neighbours = 3, .chunk = 5, .plain = true}));
    for (const int t : host_.thread_counts()) TRY_OK(cell("threads", cat(t), {.threads = t}));
    for (const std::string& isa : host_.isa_targets()) TRY_OK(cell("isa", isa, {.isa = isa}));
    for (const uint64_t seed : {1, 2, 3})
      TRY_OK(cell("page order", cat("shuffled ", seed), {.page_order = seed}));
    return Ok{};
  }

  // A hit that ends at each offset of a page: the first page's edge and its 64 followers.
  Status prefix_axis() {
    VerifyCell c = {.axis = "prefix hit", .value = cat("offsets 0..", kPagePositions - 1)};
    const int last = std::min(2 * kPagePositions, options_.prompt_tokens - 1);
    for (int hit = std::min(kPagePositions, last); hit < last; hit++) {
      TRY_OK(add(c, hit % subjects_.size(), {.prefix = hit}));
    }
    finish(std::move(c));
    return Ok{};
  }

  // Few rows over a context of several spans are split over threads span by span, many rows are
  // not.
  Status depth_axis() {
    if (deep_.empty()) return Ok{};
    VerifyCell c = {.axis = "depth", .value = cat(options_.deep_tokens, " positions")};
    const size_t deep = subjects_.size();
    TRY_OK(add(c, deep, {.neighbours = 3, .neighbour_seed = options_.seed}));
    for (const int chunk : {5, 64})
      TRY_OK(add(c, deep, {.chunk = chunk, .page_order = options_.seed}));
    for (const int t : host_.thread_counts()) TRY_OK(add(c, deep, {.threads = t}));
    TRY_OK(add(c, deep, {.prefix = std::max(1, options_.deep_tokens - 40)}));
    finish(std::move(c));
    return Ok{};
  }

  Status combinations() {
    VerifyCell c = {.axis = "combinations", .value = cat(options_.combinations, " random")};
    std::mt19937_64 rng(options_.seed + 99);
    const auto isas = host_.isa_targets();
    const auto counts = host_.thread_counts();
    const auto one_of = [&](uint64_t n) { return static_cast<int>(rng() % n); };
    for (int i = 0; i < options_.combinations; i++) {
      VerifySetting s;
      s.neighbours = one_of(8), s.chunk = one_of(3) == 0 ? 0 : 1 + one_of(100);
      s.prefix = one_of(2) == 0 ? 0 : 1 + one_of(options_.prompt_tokens - 1);
      s.preempt = s.neighbours > 0 && one_of(4) == 0;
      if (!counts.empty()) s.threads = counts[one_of(counts.size())];
      if (!isas.empty()) s.isa = isas[one_of(isas.size())];
      s.page_order = one_of(2) == 0 ? 0 : rng(), s.neighbour_seed = rng();
      s.plain = one_of(4) == 0;
      TRY_OK(add(c, one_of(subjects_.size()), s));
    }
    finish(std::move(c));
    return Ok{};
  }

  // Every subject must have been thrown out at least once, or the cell would prove nothing.
  Status preemption_axis() {
    // Neighbours whose answers end on the pages of their prompts leave everybody in peace.
    if (kCrowdedPrompt + options_.answer_tokens <= 2 * kPagePositions) return Ok{};
    VerifyCell c = {.axis = "preemption", .value = "resumed"};
    for (size_t i = 0; i < subjects_.size(); i++) {
      const int64_t before = preemptions_;
      TRY_OK(add(c, i, {.neighbours = 3, .preempt = true, .neighbour_seed = options_.seed}));
      if (preemptions_ == before)
        return Error{Code::kInvalid, "verify: expected a preemption, found none"};
    }
    finish(std::move(c));
    return Ok{};
  }

  Status cell(const std::string& axis, const std::string& value, const VerifySetting& setting) {
    VerifyCell c = {.axis = axis, .value = value};
    for (size_t i = 0; i < subjects_.size(); i++) TRY_OK(add(c, i, setting));
    finish(std::move(c));
    return Ok{};
  }

  // Runs a subject and counts into the cell.
  Status add(VerifyCell& c, size_t subject, const VerifySetting& setting) {
    const Subject& who =
        subject < subjects_.size() ? subjects_[subject] : deep_[subject - subjects_.size()];
    TRY(const Trace t, trace(who, setting));
    const Trace& want = alone_[subject];
    const int64_t vocab = host_.vocab();
    const auto differ = [&](const void* a, const void* b, int64_t bytes, const std::string& where) {
      int64_t n = 0;
      if (std::memcmp(a, b, bytes) != 0) {
        for (int64_t i = 0; i < bytes; i++)
          n += static_cast<const char*>(a)[i] != static_cast<const char*>(b)[i];
      }
      if (n > 0 && c.first_difference.empty()) c.first_difference = where;
      c.bytes += bytes, c.differing += n;
    };
    const int64_t rows = static_cast<int64_t>(want.logits.size()) / vocab;
    for (int64_t r = std::max(0, setting.prefix - who.first); r < rows; r++) {
      differ(t.logits.data() + r * vocab, want.logits.data() + r * vocab, vocab * 4,
             cat("subject ", subject, ", logits of position ", r + who.first));
    }
    if (t.answer.size() != want.answer.size()) {
      c.differing += static_cast<int64_t>(want.answer.size()) * 4;
      c.first_difference = cat("subject ", subject, ": answer of ", t.answer.size(), " tokens");
    } else {
      differ(t.answer.data(), want.answer.data(), static_cast<int64_t>(want.answer.size()) * 4,
             cat("subject ", subject, ", answer"));
    }
    c.runs++;
    preemptions_ += t.preemptions;
    // Where pages are short, neighbours may evict the hit before the subject starts.
    const bool whole = t.cached == setting.prefix || (setting.preempt && t.cached < setting.prefix);
    if (setting.prefix > 0 && !whole) {
      return Error{Code::kInvalid, cat("verify: expected a prefix hit of ", setting.prefix,
                                       " positions, found ", t.cached)};
    }
    for (const KernelUse& use : host_.take_kernel_use()) merge_kernel_use(c.kernels, use);
    return Ok{};
  }

  // A cell without runs (a prompt too short for it, no combinations) would prove nothing.
  void finish(VerifyCell c) {
    if (c.runs == 0) return;
    if (preemptions_ > 0) c.note = cat("subject preempted ", preemptions_, " times");
    preemptions_ = 0;
    report_.cells.push_back(c);
    if (on_cell_) on_cell_(c);
  }

  // Runs one subject as `setting` says, with NaN where no logits came.
  Result<Trace> trace(const Subject& subject, const VerifySetting& setting) {
    host_.set_threads(setting.threads > 0 ? setting.threads : threads_);
    host_.set_isa(setting.isa.empty() ? isa_ : setting.isa);
    TRY(auto engine, host_.open(engine_options(subject, setting), setting.plain));
    std::mt19937_64 rng(setting.neighbour_seed);
    if (setting.prefix > 0) TRY_OK(warm_prefix(*engine, subject, setting.prefix));
    // Who comes last is thrown out first.
    const int before =
        setting.preempt ? setting.neighbours
                        : static_cast<int>(rng() % static_cast<uint64_t>(setting.neighbours + 1));
    for (int i = 0; i < before; i++) TRY_OK(submit_neighbour(*engine, rng, setting));

    Trace t;
    const int64_t vocab = host_.vocab(), first = subject.first;
    const int64_t end = static_cast<int64_t>(subject.prompt.size()) + options_.answer_tokens - 1;
    t.logits.assign((end - first) * vocab, NAN);
    Error failure = {Code::kInvalid, ""};
    Request r;
    r.tokens = subject.prompt, r.sampling = subject.sampling;
    r.logits_from = std::max(setting.prefix, subject.first), r.chunk = setting.chunk,
    r.prefix_cache = setting.prefix > 0;
    std::vector<bool> came(static_cast<size_t>(end - first));
    r.on_logits = [&](int32_t position, std::span<const float> logits) {
      if (position >= end) return;
      std::copy(logits.begin(), logits.end(), t.logits.begin() + (position - first) * vocab);
      came[position - first] = true;
    };
    r.on_token = [&](const TokenEvent& e) {
      t.answer.push_back(e.token);
      return true;
    };
    r.on_finish = [&](const FinishEvent& e) {
      t.cached = e.stats.cached_tokens, t.preemptions = e.stats.preemptions;
      if (e.reason != FinishReason::kLength)
        failure.message = cat("verify: a subject ended by ", name(e.reason), ": ", e.message);
    };
    TRY_OK(engine->submit(std::move(r)));
    for (int i = before; i < setting.neighbours; i++)
      TRY_OK(submit_neighbour(*engine, rng, setting));
    engine->run_all();
    TRY_OK(engine->check_integrity());
    if (!failure.message.empty()) return failure;
    // Rows that nobody computed would be equal to each other.
    const auto skipped = std::max<int64_t>(0, setting.prefix - first);
    if (const auto missing = std::find(came.begin() + skipped, came.end(), false);
        missing != came.end())
      return Error{Code::kCorrupt, cat("verify: expected logits of position ",
                                       first + (missing - came.begin()), ", found none")};
    return t;
  }

  EngineOptions engine_options(const Subject& subject, const VerifySetting& s) const {
    EngineOptions o;
    const int prompt = static_cast<int>(subject.prompt.size());
    const int tokens = std::max(prompt, kLongestNeighbour) + options_.answer_tokens;
    o.context = (tokens + kPagePositions) / kPagePositions * kPagePositions;
    o.max_sequences = std::max(s.neighbours + 1, 1);
    o.max_rows = 512, o.prefill_chunk = 512,
    o.max_head_rows = std::max(192, prompt - subject.first);
    o.prefix_cache = s.prefix > 0;
    o.page_order_seed = s.page_order;
    if (s.preempt) {  // pages for all prompts, but not for the neighbours' answers
      o.kv_pages = std::max(o.context / kPagePositions,
                            2 * s.neighbours + (prompt + kPagePositions - 1) / kPagePositions);
      o.lookahead = 0;
    }
    return o;
  }

  // A request that shares the subject's first `n` tokens and then differs, up to the end of the
  // page, leaves them in the prefix cache.
  Status warm_prefix(Engine& engine, const Subject& subject, int n) {
    Request r;
    const int pages = n / kPagePositions + 1;
    for (int i = 0; i < pages * kPagePositions; i++) {
      const int32_t token = subject.prompt[i % subject.prompt.size()];
      r.tokens.push_back(i < n ? token : static_cast<int32_t>((token + 1) % host_.vocab()));
    }
    r.sampling.temperature = 0, r.sampling.max_tokens = 0;
    TRY_OK(engine.submit(std::move(r)));
    engine.run_all();
    return Ok{};
  }

  Status submit_neighbour(Engine& engine, std::mt19937_64& rng, const VerifySetting& setting) {
    Request r;
    const int tokens =
        setting.preempt ? kCrowdedPrompt : 1 + static_cast<int>(rng() % kLongestNeighbour);
    r.tokens = random_tokens(rng, tokens);
    r.sampling.temperature = static_cast<float>(rng() % 3) * 0.5f;
    r.sampling.seed = rng();
    r.sampling.ignore_eos = true;
    r.sampling.max_tokens =
        1 + static_cast<int>(rng() % static_cast<uint64_t>(options_.answer_tokens));
    r.chunk = static_cast<int32_t>(rng() % 100);
    if (setting.preempt) r.sampling.max_tokens = options_.answer_tokens, r.chunk = 0;
    r.prefix_cache = false;
    TRY_OK(engine.submit(std::move(r)));
    return Ok{};
  }

  VerifyHost& host_;
  const VerifyOptions options_;
  const std::function<void(const VerifyCell&)>& on_cell_;
  const int threads_;
  const std::string isa_;
  std::vector<Subject> subjects_;  // of every axis but depth
  std::vector<Subject> deep_;      // of the depth axis
  std::vector<Trace> alone_;
  int64_t preemptions_ = 0;
  VerifyReport report_;
};

}  // namespace

void merge_kernel_use(std::vector<KernelUse>& all, const KernelUse& use) {
  for (KernelUse& k : all) {
    if (k.kernel != use.kernel) continue;
    k.calls += use.calls;
    k.min_rows = std::min(k.min_rows, use.min_rows),
    k.max_rows = std::max(k.max_rows, use.max_rows);
    return;
  }
  all.push_back(use);
}

bool VerifyReport::equal() const {
  return std::all_of(cells.begin(), cells.end(),
                     [](const VerifyCell& c) { return c.differing == 0 && c.bytes > 0; });
}

Result<VerifyReport> verify(VerifyHost& host, const VerifyOptions& options,
                            const std::function<void(const VerifyCell&)>& on_cell) {
  if (options.prompt_tokens < 2 || options.answer_tokens < 1) {
    return Error{Code::kInvalid, "verify: expected at least 2 tokens of prompt and 1 of answer"};
  }
  return Verifier(host, options, on_cell).run();
}

}  // namespace mlxcel
