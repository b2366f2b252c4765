// What a client of the engine may rely on: limits, ends, errors, logits, cancellation.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "engine/model.h"
#include "engine/page_model_testing.h"

namespace mlxcel::testing {

extern std::atomic<int64_t> allocations;  // count_allocations_testing.cc

namespace {

constexpr int64_t kVocab = 100;

struct Heard {
  std::vector<int32_t> tokens;
  std::map<int32_t, std::vector<float>> logits;
  std::vector<FinishEvent> ends;
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { options_.max_sequences = 3, options_.max_rows = 20, options_.context = 64; }

  Engine& engine() {
    if (!engine_) {
      auto made = Engine::create(family_, backend_, options_);
      EXPECT_TRUE(made) << made.error().message;
      engine_ = std::move(*made);
    }
    return *engine_;
  }
  static Request request(std::vector<int32_t> tokens, int64_t max_tokens) {
    Request r;
    r.tokens = std::move(tokens);
    r.sampling.max_tokens = max_tokens;
    r.sampling.seed = 5;
    return r;
  }
  static Request listen(Request r, Heard& heard) {
    r.on_token = [&heard](const TokenEvent& e) {
      heard.tokens.push_back(e.token);
      return true;
    };
    r.on_logits = [&heard](int32_t p, std::span<const float> l) {
      EXPECT_TRUE(heard.logits.emplace(p, std::vector<float>(l.begin(), l.end())).second);
    };
    r.on_finish = [&heard](const FinishEvent& e) { heard.ends.push_back(e); };
    return r;
  }
  Heard run(Request r) {
    Heard heard;
    const auto id = engine().submit(listen(std::move(r), heard));
    EXPECT_TRUE(id) << id.error().message;
    engine().run_all();
    EXPECT_TRUE(engine().check_integrity());
    EXPECT_EQ(heard.ends.size(), 1u);
    return heard;
  }
  std::string refusal(Request r) {
    const auto id = engine().submit(std::move(r));
    return id ? "accepted" : id.error().message;
  }

  PageFamily family_{kVocab, 4096, {0}};
  PageOracle oracle_{family_.facts()};
  PageBackend backend_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, ContextIsALimitWithNumbers) {
  // Prompts of 63, 60 + 100, 64 and 1000 tokens in a context of 64.
  EXPECT_EQ(run(request(std::vector<int32_t>(63, 1), -1)).tokens.size(), 1u);
  const Heard h = run(request(std::vector<int32_t>(60, 1), 100));
  EXPECT_EQ(h.tokens.size(), 4u);
  EXPECT_EQ(h.ends[0].reason, FinishReason::kLength);
  EXPECT_EQ(refusal(request(std::vector<int32_t>(64, 1), -1)),
            "prompt: expected at most 63 tokens (the context is 64), found 64");
  EXPECT_EQ(refusal(request(std::vector<int32_t>(1000, 1), 1)),
            "prompt: expected at most 63 tokens (the context is 64), found 1000");
  EXPECT_EQ(refusal(request({}, 1)), "prompt: expected at least one token, found none");
  EXPECT_EQ(refusal(request({100}, 1)), "prompt: expected token ids from 0 to 99, found 100");
  Request bad = request({1}, 1);
  bad.sampling.temperature = -1;
  EXPECT_EQ(refusal(bad).substr(0, 16), "temperature = -1");
}

TEST_F(EngineTest, ALimitNearTheLargestNumberIsTheContext) {
  EXPECT_EQ(run(request({1, 2, 3}, INT64_MAX)).tokens.size(), 61u);
}

TEST_F(EngineTest, EndsAreFoundAndNamed) {
  Request r = request({1, 2, 3}, 30);
  const std::vector<int32_t> all = run(r).tokens;
  ASSERT_EQ(all.size(), 30u);
  r.sampling.end_tokens = {all[7]};
  const auto first = std::find(all.begin(), all.end(), all[7]) - all.begin() + 1;
  Heard h = run(r);
  EXPECT_EQ(h.tokens, std::vector<int32_t>(all.begin(), all.begin() + first));
  EXPECT_EQ(h.ends[0].reason, FinishReason::kStop);
  EXPECT_EQ(h.ends[0].stats.generated_tokens, first);
  r.sampling.ignore_eos = true;
  EXPECT_EQ(run(r).tokens, all);
}

TEST_F(EngineTest, SeedsAndChoices) {
  Request r = request({1, 2, 3}, 20);
  const auto a = run(r).tokens;
  EXPECT_EQ(run(r).tokens, a);
  r.choice = 1;
  EXPECT_NE(run(r).tokens, a);
  r.choice = 0, r.sampling.seed = 6;
  EXPECT_NE(run(r).tokens, a);
  r.sampling.seed.reset();
  const Heard random = run(r);
  r.sampling.seed = random.ends[0].stats.seed;  // the reported seed repeats the answer
  EXPECT_EQ(run(r).tokens, random.tokens);
}

TEST_F(EngineTest, LogitsAreReportedOnceFromWhereAsked) {
  std::vector<int32_t> prompt(30);
  for (int i = 0; i < 30; i++) prompt[i] = i * 7 % 100;
  for (const int32_t from : {0, 11, 29}) {
    for (const int32_t chunk : {0, 1, 7}) {
      Request r = request(prompt, 5);
      r.logits_from = from;
      r.chunk = chunk;
      const Heard h = run(r);
      std::vector<int32_t> tokens = prompt;
      tokens.insert(tokens.end(), h.tokens.begin(), h.tokens.end());
      const auto rows = oracle_.rows(tokens);
      EXPECT_EQ(h.logits.size(), static_cast<size_t>(34 - from));  // the last token never ran
      for (const auto& [position, logits] : h.logits) {
        ASSERT_GE(position, from);
        for (int64_t v = 0; v < kVocab; v++) ASSERT_EQ(logits[v], logit(rows[position], v));
      }
    }
  }
  Request scored = request(std::vector<int32_t>(64, 9), 0);  // nothing drawn: a full context fits
  scored.logits_from = 0;
  const Heard h = run(scored);
  EXPECT_EQ(h.logits.size(), 64u);
  EXPECT_TRUE(h.tokens.empty());
  EXPECT_EQ(h.ends[0].reason, FinishReason::kLength);
}

TEST_F(EngineTest, ANanFailsItsRequestAlone) {
  backend_.nan_seed = 77;
  Request bad = request({1, 2, 3}, 9), good = request({1, 2, 4}, 9);
  bad.sampling.seed = 77;
  Heard bad_heard, good_heard;
  ASSERT_TRUE(engine().submit(listen(bad, bad_heard)));
  ASSERT_TRUE(engine().submit(listen(good, good_heard)));
  engine().run_all();
  EXPECT_EQ(bad_heard.ends[0].reason, FinishReason::kError);
  EXPECT_EQ(bad_heard.ends[0].message, "token 3: the logits hold a NaN, or no token is allowed");
  EXPECT_EQ(good_heard.tokens, oracle_.answer(good, 5, 64));
}

TEST_F(EngineTest, ADeviceErrorFailsItsStepOnly) {
  Heard in_step, later;
  ASSERT_TRUE(engine().submit(listen(request({1, 2, 3}, 20), in_step)));
  engine().step();
  backend_.fail_in = 0;
  engine().step();
  ASSERT_EQ(in_step.ends.size(), 1u);
  EXPECT_EQ(in_step.ends[0].reason, FinishReason::kError);
  EXPECT_EQ(in_step.ends[0].message, "page: planted failure");
  EXPECT_TRUE(engine().check_integrity());
  const Request r = request({1, 2, 3}, 20);
  ASSERT_TRUE(engine().submit(listen(r, later)));
  engine().run_all();
  EXPECT_EQ(later.tokens, oracle_.answer(r, 5, 64));
}

// Whoever watches the process (/health) learns that it should be started again.
TEST_F(EngineTest, ADeviceThatOnlyFailsIsUnsound) {
  const auto fail = [&] {
    Heard h;
    ASSERT_TRUE(engine().submit(listen(request({1, 2, 3}, 20), h)));
    backend_.fail_in = 0;
    engine().run_all();
    EXPECT_EQ(h.ends.at(0).reason, FinishReason::kError);
  };
  for (int i = 1; i < Engine::kFailedSteps; i++) fail();
  EXPECT_TRUE(engine().check_integrity());
  Heard fine;
  ASSERT_TRUE(engine().submit(listen(request({1, 2, 3}, 2), fine)));
  engine().run_all();
  for (int i = 1; i < Engine::kFailedSteps; i++) fail();
  EXPECT_TRUE(engine().check_integrity());  // a step between them went well
  fail();
  EXPECT_NE(engine().check_integrity().error().message.find("3 steps in a row: page: planted"),
            std::string::npos);
}

TEST_F(EngineTest, CancelAtAnyMoment) {
  for (int when = 0; when < 12; when++) {
    Heard h;
    Request r = request(std::vector<int32_t>(50, 3), 14);
    const auto id = engine().submit(listen(r, h));
    for (int i = 0; i < when; i++) engine().step();
    engine().cancel(*id);
    const size_t tokens = h.tokens.size();
    engine().step();
    ASSERT_EQ(h.ends.size(), 1u);
    EXPECT_EQ(h.ends[0].reason, FinishReason::kCancelled);
    EXPECT_EQ(h.tokens.size(), tokens);  // nothing after the cancel
    EXPECT_FALSE(engine().busy());
    EXPECT_TRUE(engine().check_integrity());
    engine().cancel(*id);  // gone: ignored
  }
}

TEST_F(EngineTest, CallbacksMayCancelStopAndSubmit) {
  Heard inner;
  int heard = 0;
  std::vector<FinishReason> ends;
  Request r = request({1, 2}, 40), enough = r;
  const Request next = request({8}, 3);
  r.on_token = [&](const TokenEvent& e) {
    if (++heard == 4) engine().cancel(e.id);
    return true;
  };
  r.on_finish = [&](const FinishEvent& e) {
    ends.push_back(e.reason);
    EXPECT_TRUE(engine().submit(listen(next, inner)));
  };
  ASSERT_TRUE(engine().submit(r));
  int few = 0;
  enough.on_token = [&](const TokenEvent&) { return ++few < 6; };
  enough.on_finish = [&](const FinishEvent& e) { ends.push_back(e.reason); };
  ASSERT_TRUE(engine().submit(enough));
  engine().run_all();
  EXPECT_EQ(heard, 4);
  EXPECT_EQ(few, 6);
  EXPECT_EQ(ends, (std::vector<FinishReason>{FinishReason::kCancelled, FinishReason::kStop}));
  EXPECT_EQ(inner.tokens, oracle_.answer(next, 5, 64));
  EXPECT_TRUE(engine().check_integrity());
}

TEST_F(EngineTest, APlannedSequenceMayStillBePreempted) {
  // The younger decodes and takes the last page; then the older, still reading its prompt two rows
  // at a time, needs one after the younger's row was planned.
  options_.context = 256, options_.kv_pages = 5, options_.lookahead = 0;
  options_.prefix_cache = false;
  Request older = request(std::vector<int32_t>(200, 7), 3), younger = request({5}, 150);
  older.chunk = 2;
  Heard older_heard, younger_heard;
  ASSERT_TRUE(engine().submit(listen(older, older_heard)));
  ASSERT_TRUE(engine().submit(listen(younger, younger_heard)));
  while (engine().step()) ASSERT_TRUE(engine().check_integrity());
  EXPECT_EQ(younger_heard.ends[0].stats.preemptions, 1);
  EXPECT_EQ(older_heard.tokens, oracle_.answer(older, 5, 256));
  EXPECT_EQ(younger_heard.tokens, oracle_.answer(younger, 5, 256));
}

// Allows the odd tokens, then the even ones, in turn.
class OddEven final : public TokenMask {
 public:
  bool fill(std::span<uint32_t> words) override {
    for (uint32_t& w : words) w = accepted_ % 2 == 0 ? 0xaaaaaaaau : 0x55555555u;
    return accepted_ < 6;
  }
  void accept(int32_t) override { accepted_++; }
  void rollback(int32_t tokens) override { accepted_ -= tokens; }

 private:
  int accepted_ = 0;
};

TEST_F(EngineTest, MasksBindTheirOwnRequest) {
  Request r = request({1, 2, 3}, 20), free = request({1, 2, 5}, 20);
  r.mask = std::make_shared<OddEven>();
  Heard masked, other;
  ASSERT_TRUE(engine().submit(listen(free, other)));
  ASSERT_TRUE(engine().submit(listen(r, masked)));
  engine().run_all();
  for (int i = 0; i < 6; i++) EXPECT_EQ(masked.tokens[i] % 2, i % 2 == 0);
  EXPECT_EQ(other.tokens, oracle_.answer(free, 5, 64));
}

TEST_F(EngineTest, HitsEqualColdRunsAtEveryOffset) {
  options_.context = 400, options_.max_rows = 64;
  std::vector<int32_t> text(256);  // four pages, all known afterwards
  for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<int32_t>(i * i % 97);
  run(request(text, 0));
  for (int32_t shared = 1; shared < 256; shared++) {
    Request r = request({text.begin(), text.begin() + shared}, 3);
    r.tokens.push_back(99);
    const Heard h = run(r);
    EXPECT_EQ(h.ends[0].stats.cached_tokens, shared);
    EXPECT_EQ(h.tokens, oracle_.answer(r, 5, 400)) << shared;
  }
  Request other = request(text, 3);
  other.kv_key = "another adapter";
  EXPECT_EQ(run(other).ends[0].stats.cached_tokens, 0);
  other.prefix_cache = false, other.kv_key = "";
  EXPECT_EQ(run(other).ends[0].stats.cached_tokens, 0);
}

TEST_F(EngineTest, DeadlinesEndRequestsWhereverTheyAre) {
  Heard late, waiting, fine;
  Request r = request({1, 2, 3}, -1);
  options_.max_sequences = 1;
  (void)engine();  // made now, so that little happens before the first step
  r.deadline = Clock::now() + std::chrono::milliseconds(500);
  ASSERT_TRUE(engine().submit(listen(r, late)));
  ASSERT_TRUE(engine().submit(listen(r, waiting)));
  ASSERT_TRUE(engine().submit(listen(request({1, 2, 4}, 3), fine)));
  engine().step();
  std::this_thread::sleep_until(r.deadline);
  engine().run_all();
  EXPECT_EQ(late.ends[0].reason, FinishReason::kTimeout);
  EXPECT_EQ(late.tokens.size(), 1u);
  EXPECT_EQ(waiting.ends[0].reason, FinishReason::kTimeout);
  EXPECT_EQ(fine.tokens.size(), 3u);
  EXPECT_TRUE(engine().check_integrity());
}

TEST_F(EngineTest, StepsDoNotAllocate) {
  options_.context = 256;
  for (int i = 0; i < 3; i++) {
    Request r = request({1, 2, i}, 60);
    r.sampling.repetition_penalty = 1.1f;
    ASSERT_TRUE(engine().submit(std::move(r)));
  }
  for (int i = 0; i < 10; i++) engine().step();
  const int64_t before = allocations;
  for (int i = 0; i < 40; i++) engine().step();  // within a page
  EXPECT_LE(allocations - before, 3 * 3);        // the penalties' counts double now and then
  EXPECT_TRUE(engine().busy());
}

TEST_F(EngineTest, OptionsAreChecked) {
  const auto refuses = [&](const char* message) {
    const auto made = Engine::create(family_, backend_, options_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, message);
  };
  options_.max_rows = 3;
  refuses("max_rows = 3: expected more than max_sequences = 3");
  options_.max_rows = 20, options_.context = 5000;
  refuses("context = 5000: expected at most 4096, what the model was made for");
  options_.context = 129, options_.kv_pages = 2;
  refuses("kv_pages = 2: expected at least 3, what one context of 129 tokens takes");
}

TEST_F(EngineTest, MemoryIsAskedBeforeLoading) {
  options_.context = 4096, options_.max_sequences = 3;  // 192 pages of 512 bytes
  options_.arena_elements = 1 << 20;
  const auto plan = [&](int64_t available) {
    return plan_memory(family_.facts(), backend_, 10 << 20, options_, available);
  };
  EXPECT_EQ(plan(-1)->pages, std::vector<int32_t>{192});
  EXPECT_EQ(plan(-1)->total(), (10 << 20) + (4 << 20) + 192 * 512);
  EXPECT_EQ(plan(1 << 30)->options.kv_pages, 192);
  const int64_t tight = ((14 << 20) + 100 * 512 + 100) / 9 * 10 + 10;
  EXPECT_EQ(plan(tight)->options.kv_pages, 100);
  EXPECT_EQ(plan(tight)->options.prefix_pages, 100);
  const auto none = plan(15 << 20);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kExhausted);
  EXPECT_EQ(none.error().message,
            "memory: weights take 10 MiB, the KV cache of 64 pages 1 MiB and a step 4 MiB, "
            "together 15 MiB; expected at most 14 MiB of the 15 MiB available; use a smaller "
            "context, fewer sequences or a smaller model");
}

}  // namespace
}  // namespace mlxcel::testing
