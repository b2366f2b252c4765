// "A row is a row" through the engine, on a real family and real kernels: the tokens and the raw
// logits of a request have equal bytes alone and in company, in any chunks, after a prefix hit at
// any offset, after preemption, on any pages, on any number of threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "engine/engine.h"
#include "engine/faulty_testing.h"
#include "models/registry.h"
#include "weights/random.h"

namespace mlxcel {

namespace testing {
extern std::atomic<int64_t> allocations;  // count_allocations_testing.cc
}

namespace {

using mlxcel::testing::allocations;

constexpr int32_t kVocab = 288;

struct Tiny {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Family> family;

  Tiny(std::unique_ptr<Backend> its_backend, DType dtype) : backend(std::move(its_backend)) {
    Config c("tiny");
    const std::pair<const char*, int64_t> numbers[] = {{"hidden_size", 64},
                                                       {"num_hidden_layers", 2},
                                                       {"num_attention_heads", 4},
                                                       {"num_key_value_heads", 2},
                                                       {"intermediate_size", 96},
                                                       {"vocab_size", kVocab},
                                                       {"max_position_embeddings", 4096}};
    for (const auto& [key, value] : numbers) c.set(key, value);
    c.set("model_type", std::string("llama")), c.set("rms_norm_eps", 1e-6);
    auto made = make_family(c);
    CHECK(made);
    family = std::move(*made);
    CHECK(random_weights([&](WeightVisitor& w) { family->visit(w); }, dtype, 3, *backend));
  }
};

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  // of the generated rows
  bool operator==(const Answer& o) const {
    return tokens == o.tokens && logits.size() == o.logits.size() &&
           std::memcmp(logits.data(), o.logits.data(), 4 * logits.size()) == 0;
  }
};

EngineOptions options() {
  EngineOptions o;
  o.max_sequences = 6, o.max_rows = 200, o.prefill_chunk = 200, o.max_head_rows = 32;
  o.context = 320, o.lookahead = 4;
  o.arena_elements = 1 << 22;
  return o;
}

std::unique_ptr<Engine> make(const Tiny& tiny, const EngineOptions& o) {
  auto engine = Engine::create(*tiny.family, *tiny.backend, o);
  CHECK(engine);
  return std::move(*engine);
}

Request request(uint64_t seed, int32_t length, bool greedy) {
  std::mt19937_64 random(seed);
  Request r;
  for (int32_t i = 0; i < length; i++) r.tokens.push_back(static_cast<int32_t>(random() % kVocab));
  r.sampling.temperature = greedy ? 0 : 1;
  r.sampling.seed = seed;
  r.sampling.max_tokens = 12;
  r.logits_from = length - 1;
  return r;
}

void submit(Engine& engine, Request r, Answer& answer) {
  r.on_token = [&answer](const TokenEvent& e) {
    answer.tokens.push_back(e.token);
    return true;
  };
  r.on_logits = [&answer](int32_t, std::span<const float> l) {
    answer.logits.insert(answer.logits.end(), l.begin(), l.end());
  };
  CHECK(engine.submit(std::move(r)));
}

Answer alone(Engine& engine, const Request& r) {
  Answer a;
  submit(engine, r, a);
  engine.run_all();
  CHECK(engine.check_integrity());
  return a;
}

Answer cold(const Tiny& tiny, const Request& r) { return alone(*make(tiny, options()), r); }

std::unique_ptr<CpuBackend> cpu(int threads) {
  auto backend = make_cpu_backend({.threads = threads, .float_activations = false});
  CHECK(backend);
  return std::move(*backend);
}

class Exact : public ::testing::TestWithParam<const char*> {
 protected:
  Exact() : tiny_(make_backend(), DType::kQ4_0) {}
  bool on_ref() const { return GetParam() == std::string("ref"); }
  std::unique_ptr<Backend> make_backend() const {
    return on_ref() ? make_ref_backend() : std::unique_ptr<Backend>(cpu(1));
  }

  Tiny tiny_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Exact, ::testing::Values("ref", "cpu"));

TEST_P(Exact, AnswersDependOnPromptAndSeed) {
  const Answer a = cold(tiny_, request(1, 70, false));
  EXPECT_EQ(a.tokens.size(), 12u);
  EXPECT_EQ(a.logits.size(), 12u * kVocab);
  EXPECT_FALSE(a == cold(tiny_, request(2, 70, false)));
  Request greedy = request(1, 70, true), again = greedy;
  again.sampling.seed = 99;
  EXPECT_TRUE(cold(tiny_, greedy) == cold(tiny_, again));
}

TEST_P(Exact, AnyBatch) {
  for (int size = 2; size <= 6; size++) {
    std::vector<Request> requests;
    requests.reserve(size);
    for (int i = 0; i < size; i++)
      requests.push_back(request(10 * size + i, 1 + (i * 53 + size * 17) % 150, i % 2 == 0));
    auto engine = make(tiny_, options());
    std::vector<Answer> answers(size);
    for (int i = 0; i < size; i++) {
      submit(*engine, requests[i], answers[i]);
      if (i % 2 == 1) engine->step();
    }
    engine->run_all();
    for (int i = 0; i < size; i++)
      EXPECT_TRUE(answers[i] == cold(tiny_, requests[i])) << size << ", " << i;
  }
}

TEST_P(Exact, AnyChunks) {
  Request r = request(4, 130, false);
  r.logits_from = 0;  // the whole prompt too
  const Answer whole = cold(tiny_, r);
  EXPECT_EQ(whole.logits.size(), (130u + 11) * kVocab);
  for (const int32_t chunk : {1, 7, 16, 31}) {
    r.chunk = chunk;
    EXPECT_TRUE(cold(tiny_, r) == whole) << chunk;
  }
  // A run over prompt and answer at any width gives the logits that decoding gave: what
  // verification of drafts rests on.
  for (int32_t width = 1; width <= 16; width++) {
    Request forced = r;
    forced.tokens.insert(forced.tokens.end(), whole.tokens.begin(), whole.tokens.end() - 1);
    forced.chunk = width, forced.sampling.max_tokens = 0, forced.logits_from = 0;
    const Answer a = cold(tiny_, forced);
    ASSERT_EQ(a.logits.size(), whole.logits.size()) << width;
    EXPECT_EQ(std::memcmp(a.logits.data(), whole.logits.data(), 4 * whole.logits.size()), 0);
  }
}

TEST_P(Exact, PrefixHitAtEveryOffset) {
  const Request text = request(5, 192, true);
  EngineOptions o = options();
  o.kv_pages = 1000;  // nothing is evicted
  auto engine = make(tiny_, o);
  alone(*engine, text);
  for (int32_t shared = 1; shared < 192; shared += on_ref() ? 37 : 3) {  // by 3: each of 64
    Request r = request(1000 + shared, 5, shared % 2 == 0);
    r.sampling.max_tokens = 2;
    r.tokens.insert(r.tokens.begin(), text.tokens.begin(), text.tokens.begin() + shared);
    r.logits_from = static_cast<int32_t>(r.tokens.size()) - 1;
    const uint64_t cached = engine->stats().cached_tokens;
    const Answer hit = alone(*engine, r);
    EXPECT_GE(engine->stats().cached_tokens - cached, static_cast<uint64_t>(shared));
    r.prefix_cache = false;
    EXPECT_TRUE(hit == alone(*engine, r)) << shared;
  }
}

TEST_P(Exact, PreemptionAndPageOrder) {
  std::vector<Request> requests;
  requests.reserve(6);
  for (int i = 0; i < 6; i++) requests.push_back(request(50 + i, 56 + i, i % 2 == 0));
  for (Request& r : requests) r.sampling.max_tokens = 20;
  for (const uint64_t order : {0, 1, 2}) {
    for (const bool cache : {false, true}) {
      EngineOptions o = options();
      o.kv_pages = 8, o.page_order_seed = order, o.prefix_cache = cache, o.lookahead = 0;
      auto engine = make(tiny_, o);
      std::vector<Answer> answers(requests.size());
      for (size_t i = 0; i < requests.size(); i++) submit(*engine, requests[i], answers[i]);
      engine->run_all();
      EXPECT_GT(engine->stats().preemptions, 0u);
      for (size_t i = 0; i < requests.size(); i++)
        EXPECT_TRUE(answers[i] == cold(tiny_, requests[i])) << order << ", " << i;
    }
  }
}

TEST(ExactCpu, AnyThreads) {
  const Tiny one(cpu(1), DType::kQ8_0);
  const Request r = request(6, 90, false);
  const Answer expected = cold(one, r);
  for (const int threads : {2, 3, 5, 8})
    EXPECT_TRUE(cold(Tiny(cpu(threads), DType::kQ8_0), r) == expected) << threads;
}

// Real kernels and a team of threads: memory that a step needs is kept from step to step.
TEST(ExactCpu, StepsDoNotAllocate) {
  for (const int threads : {1, 3}) {
    const Tiny tiny(cpu(threads), DType::kQ4_0);
    auto engine = make(tiny, options());
    for (int i = 0; i < 3; i++) {
      Request r = request(20 + i, 70, i == 0);
      r.sampling.max_tokens = 60;
      CHECK(engine->submit(std::move(r)));
    }
    for (int i = 0; i < 6; i++) engine->step();
    const int64_t before = allocations;
    for (int i = 0; i < 45; i++) engine->step();  // within a page
    EXPECT_EQ(allocations - before, 0) << threads;
    EXPECT_TRUE(engine->busy());
  }
}

// The tests above must be able to fail: each fault shows on its axis.
TEST(ExactCpu, PlantedFaultsAreSeen) {
  using testing::Faulty, testing::RealFault;
  Tiny tiny(cpu(1), DType::kQ4_0);
  const Request a = request(8, 90, false), b = request(9, 80, false);
  const Answer expected = cold(tiny, a);
  const auto with = [&](RealFault fault, const Request& r, bool company) {
    Faulty faulty(*tiny.backend, fault);
    auto engine = Engine::create(*tiny.family, faulty, options());
    Answer answer, other;
    submit(**engine, r, answer);
    if (company) submit(**engine, b, other);
    (*engine)->run_all();
    return answer;
  };
  Request narrow = a;
  narrow.chunk = 3;
  EXPECT_TRUE(with(RealFault::kNone, a, true) == expected);
  EXPECT_TRUE(with(RealFault::kNeighboursPage, a, false) == expected);
  EXPECT_FALSE(with(RealFault::kNeighboursPage, a, true) == expected);
  EXPECT_TRUE(with(RealFault::kReductionByRows, narrow, false) == expected);
  EXPECT_FALSE(with(RealFault::kReductionByRows, a, false) == expected);
  Tiny two(cpu(2), DType::kQ4_0);
  Faulty faulty(*two.backend, RealFault::kReductionByThreads);
  EXPECT_FALSE(alone(**Engine::create(*two.family, faulty, options()), a) == expected);
}

}  // namespace
}  // namespace mlxcel
