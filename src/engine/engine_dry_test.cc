// The scheduler by the thousand: random requests on the dry backend, with the facts of a real
// family, checked after every step.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "backends/dry/dry.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "models/registry.h"
#include "weights/random.h"

namespace mlxcel {
namespace {

struct Wanted {
  SampleRow row;
  int32_t prompt = 0;
  int64_t tokens = 0;
  int32_t heard = 0;
  bool cancelled = false;
};

class EngineDry : public ::testing::Test {
 protected:
  EngineDry() {
    Config c("tiny");
    const std::pair<const char*, int64_t> numbers[] = {{"hidden_size", 32},
                                                       {"num_hidden_layers", 1},
                                                       {"num_attention_heads", 2},
                                                       {"num_key_value_heads", 1},
                                                       {"intermediate_size", 32},
                                                       {"vocab_size", kVocab},
                                                       {"max_position_embeddings", 2048}};
    for (const auto& [key, value] : numbers) c.set(key, value);
    c.set("model_type", std::string("llama")), c.set("rms_norm_eps", 1e-6);
    family_ = std::move(*make_family(c));
    CHECK(random_weights([&](WeightVisitor& w) { family_->visit(w); }, DType::kF32, 1, *dry_));
  }

  // What the dry backend draws with this key, whatever the rows.
  int32_t drawn(SampleRow row, int32_t position) const {
    row.key.position = static_cast<uint64_t>(position);
    Sample sample;
    make_dry_backend()->sample({{1, kVocab}, 0}, {&row, 1}, {&sample, 1});
    return sample.token;
  }

  static constexpr int32_t kVocab = 64;
  std::unique_ptr<DryBackend> dry_ = make_dry_backend();
  std::unique_ptr<Family> family_;
};

TEST_F(EngineDry, ThousandsOfRequestsLeaveNothingBehind) {
  std::mt19937_64 random(4);
  EngineOptions o;
  o.max_sequences = 16, o.max_rows = 96, o.prefill_chunk = 64, o.context = 640, o.kv_pages = 40;
  o.lookahead = 0;
  auto made = Engine::create(*family_, *dry_, o);
  ASSERT_TRUE(made) << made.error().message;
  Engine& engine = **made;
  std::map<RequestId, Wanted> live;
  int submitted = 0, ended = 0, cancelled = 0;
  constexpr int kRequests = 4000;
  while (submitted < kRequests || engine.busy()) {
    while (submitted < kRequests && live.size() < 64 && random() % 2 == 0) {
      Request r;
      r.tokens.assign(1 + random() % 400, static_cast<int32_t>(random() % 3));
      r.tokens.back() = static_cast<int32_t>(random() % kVocab);
      r.sampling.seed = random();
      r.sampling.max_tokens = static_cast<int64_t>(random() % 100);
      r.on_token = [&](const TokenEvent& e) {
        Wanted& w = live.at(e.id);
        EXPECT_EQ(e.position, w.prompt + w.heard);
        EXPECT_EQ(e.token, drawn(w.row, e.position));
        w.heard++;
        return true;
      };
      r.on_finish = [&](const FinishEvent& e) {
        const Wanted& w = live.at(e.id);
        EXPECT_EQ(e.reason, w.cancelled ? FinishReason::kCancelled : FinishReason::kLength);
        if (!w.cancelled) {
          EXPECT_EQ(w.heard, w.tokens);
        }
        cancelled += w.cancelled;
        ended++;
        live.erase(e.id);
      };
      Wanted w;
      w.row.key = {*r.sampling.seed, 0, 0};
      w.prompt = static_cast<int32_t>(r.tokens.size());
      w.tokens = r.sampling.max_tokens;
      const auto id = engine.submit(std::move(r));
      ASSERT_TRUE(id);
      live[*id] = w;
      submitted++;
    }
    if (!live.empty() && random() % 20 == 0) {
      auto victim = live.begin();
      std::advance(victim, static_cast<int64_t>(random() % live.size()));
      victim->second.cancelled = true;
      engine.cancel(victim->first);
    }
    engine.step();
    const Status sound = engine.check_integrity();
    ASSERT_TRUE(sound) << sound.error().message;
    ASSERT_LE(engine.stats().prefix_nodes, o.kv_pages);
  }
  EXPECT_EQ(ended, kRequests);
  EXPECT_GT(cancelled, 100);
  EXPECT_GT(engine.stats().preemptions, 5u);
  EXPECT_GT(engine.stats().cached_tokens, 1000u);
  EXPECT_EQ(engine.stats().pages_free + engine.stats().pages_idle, engine.stats().pages);
}

TEST_F(EngineDry, TheLargestStepSizesTheArena) {
  EngineOptions o;
  o.max_sequences = 4, o.max_rows = 100, o.max_head_rows = 20;
  o = *complete(family_->facts(), o);
  ASSERT_TRUE(run_largest_step(*family_, *dry_, o));
  const int64_t counted = dry_->counts().arena_peak;
  EXPECT_GT(counted, 100 * 32);
  // No step of the engine needs more: many sequences, all logits wanted.
  dry_ = make_dry_backend();
  ASSERT_TRUE(random_weights([&](WeightVisitor& w) { family_->visit(w); }, DType::kF32, 1, *dry_));
  auto engine = std::move(*Engine::create(*family_, *dry_, o));
  for (int i = 0; i < 9; i++) {
    Request r;
    r.tokens.assign(150, i);
    r.sampling.max_tokens = 5;
    r.logits_from = i % 2 == 0 ? 0 : kNoLogits;
    ASSERT_TRUE(engine->submit(std::move(r)));
  }
  engine->run_all();
  EXPECT_LE(dry_->counts().arena_peak, counted);
  EXPECT_GT(dry_->counts().arena_peak, counted / 2);
}

}  // namespace
}  // namespace mlxcel
