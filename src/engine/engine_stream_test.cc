// Random streams of requests: each gets exactly its own answer, and nothing leaks, whatever the
// engine's sizes, neighbours, cancellations and preemptions.
#include <gtest/gtest.h>

#include <map>

#include "engine/page_model_testing.h"

namespace mlxcel::testing {
namespace {

struct StreamSetup {
  std::vector<int32_t> windows = {0};
  EngineOptions options;
  Fault fault = Fault::kNone;
  int requests = 300;
  uint64_t seed = 1;
};

struct Outcome {
  int wrong = 0, right = 0, cancelled = 0;
  int64_t copies = 0;
  EngineStats stats;
};

struct Live {
  Request request;
  std::vector<int32_t> drawn;
  bool finished = false;
  FinishEvent end;
};

constexpr int64_t kVocab = 200;

Request random_request(std::mt19937_64& random, const std::vector<std::vector<int32_t>>& roots,
                       int32_t context) {
  Request r;
  const auto& root = roots[random() % roots.size()];
  r.tokens.assign(root.begin(), root.begin() + 1 + random() % root.size());
  for (int extra = static_cast<int>(random() % 20); extra > 0; extra--)
    r.tokens.push_back(static_cast<int32_t>(random() % kVocab));
  if (static_cast<int32_t>(r.tokens.size()) > context - 1) r.tokens.resize(context - 1);
  r.sampling.temperature = random() % 3 ? 1.0f : 0.0f;
  r.sampling.seed = random();
  r.sampling.max_tokens = 1 + static_cast<int64_t>(random() % 40);
  r.sampling.end_tokens = {3, 4};
  if (random() % 4 == 0) r.sampling.repetition_penalty = 1.3f;
  if (random() % 4 == 0) r.sampling.dry_multiplier = 0.8f;
  if (random() % 8 == 0) r.kv_key = "adapter";
  r.prefix_cache = random() % 10 != 0;
  if (random() % 3 == 0) r.chunk = 1 + static_cast<int32_t>(random() % 70);
  r.choice = static_cast<uint32_t>(random() % 2);
  return r;
}

Outcome stream(const StreamSetup& setup) {
  Outcome outcome;
  std::mt19937_64 random(setup.seed);
  const PageFamily family(kVocab, 512, setup.windows);
  const PageOracle oracle(family.facts());
  PageBackend backend;
  backend.fault = setup.fault;
  auto made = Engine::create(family, backend, setup.options);
  EXPECT_TRUE(made) << made.error().message;
  Engine& engine = **made;
  const int32_t context = engine.options().context;
  std::vector<std::vector<int32_t>> roots(3);
  for (auto& root : roots) {
    root.resize(40 + random() % (context - 60));
    for (int32_t& t : root) t = static_cast<int32_t>(random() % kVocab);
  }
  for (size_t i = 0; i < 70 && i < roots[1].size(); i++)
    roots[1][i] = roots[0][i % roots[0].size()];

  std::map<RequestId, Live> live;
  int submitted = 0;
  for (int64_t steps = 0; submitted < setup.requests || engine.busy(); steps++) {
    EXPECT_LT(steps, 200 * setup.requests) << "no end";
    while (submitted < setup.requests && random() % 3 == 0) {
      Request r = random_request(random, roots, context);
      Live mine;
      mine.request = r;
      r.on_token = [&live](const TokenEvent& e) {
        live[e.id].drawn.push_back(e.token);
        return true;
      };
      r.on_finish = [&live](const FinishEvent& e) {
        live[e.id].finished = true;
        live[e.id].end = e;
      };
      const auto id = engine.submit(std::move(r));
      EXPECT_TRUE(id) << id.error().message;
      live[*id] = std::move(mine);
      submitted++;
    }
    if (!live.empty() && random() % 12 == 0) {
      auto victim = live.begin();
      std::advance(victim, static_cast<int64_t>(random() % live.size()));
      engine.cancel(victim->first);
    }
    engine.step();
    const Status sound = engine.check_integrity();
    EXPECT_TRUE(sound) << sound.error().message;
    if (!sound) return outcome;
    for (auto at = live.begin(); at != live.end();) {
      const Live& l = at->second;
      if (!l.finished) {
        ++at;
        continue;
      }
      auto expected = oracle.answer(l.request, *l.request.sampling.seed, context);
      if (l.end.reason == FinishReason::kCancelled) {
        outcome.cancelled++;
        expected.resize(std::min(expected.size(), l.drawn.size()));
      } else if (l.drawn == expected) {
        const bool end = ends(l.request.sampling, expected.back());
        EXPECT_EQ(l.end.reason, end ? FinishReason::kStop : FinishReason::kLength);
      }
      (l.drawn == expected ? outcome.right : outcome.wrong)++;
      at = live.erase(at);
    }
  }
  outcome.stats = engine.stats();
  outcome.copies = backend.copies;
  EXPECT_EQ(outcome.stats.running + outcome.stats.waiting, 0u);
  engine.clear_prefix_cache();
  EXPECT_EQ(engine.stats().pages_free, engine.stats().pages);
  EXPECT_TRUE(engine.check_integrity());
  return outcome;
}

EngineOptions options(int32_t sequences, int32_t rows, int32_t pages, uint64_t order = 0) {
  EngineOptions o;
  o.max_sequences = sequences;
  o.max_rows = rows;
  o.prefill_chunk = rows;
  o.context = 256;
  o.kv_pages = pages;
  o.lookahead = 8;
  o.page_order_seed = order;
  return o;
}

class Streams : public ::testing::TestWithParam<StreamSetup> {};

TEST_P(Streams, EveryRequestGetsItsOwnAnswer) {
  const Outcome o = stream(GetParam());
  EXPECT_EQ(o.wrong, 0);
  EXPECT_EQ(o.right, GetParam().requests);
  EXPECT_GT(o.cancelled, 0);
  if (GetParam().options.prefix_cache) {
    EXPECT_GT(o.stats.cached_tokens, 0u);
    EXPECT_GT(o.copies, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Streams,
    ::testing::Values(StreamSetup{.options = options(1, 7, 4)},
                      StreamSetup{.options = options(4, 32, 16)},
                      StreamSetup{.options = options(8, 100, 9, 5)},  // short of pages
                      StreamSetup{.windows = {0, 20}, .options = options(4, 40, 8, 3)},
                      StreamSetup{.windows = {70, 0}, .options = options(6, 64, 12)},
                      StreamSetup{.windows = {65}, .options = options(5, 33, 20, 9)},
                      StreamSetup{.windows = {0, 1, 64}, .options = options(3, 300, 6)},
                      StreamSetup{.options = options(8, 9, 8, 2), .requests = 400, .seed = 11}));

TEST(Streams, ShortMemoryPreempts) {
  StreamSetup s{.options = options(8, 100, 5), .requests = 200};
  const Outcome o = stream(s);
  EXPECT_EQ(o.wrong, 0);
  EXPECT_GT(o.stats.preemptions, 0u);
}

TEST(Streams, WithoutPrefixCache) {
  StreamSetup s{.options = options(4, 64, 10)};
  s.options.prefix_cache = false;
  const Outcome o = stream(s);
  EXPECT_EQ(o.wrong, 0);
  EXPECT_EQ(o.stats.cached_tokens, 0u);
}

TEST(Streams, SmallPrefixBudget) {
  StreamSetup s{.options = options(4, 64, 24)};
  s.options.prefix_pages = 2;
  const Outcome o = stream(s);
  EXPECT_EQ(o.wrong, 0);
  EXPECT_LE(o.stats.prefix_nodes, 2);
}

// The test itself: faults of a backend must show as wrong answers.
TEST(Streams, PlantedFaultsAreSeen) {
  for (const Fault f :
       {Fault::kNeighboursPage, Fault::kRowCount, Fault::kShortCopy, Fault::kWrongPosition}) {
    StreamSetup s{.options = options(4, 32, 16), .fault = f, .requests = 100};
    EXPECT_GT(stream(s).wrong, 0) << static_cast<int>(f);
  }
}

}  // namespace
}  // namespace mlxcel::testing
