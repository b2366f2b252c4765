#include "engine/service.h"

#include <gtest/gtest.h>

#include <future>

#include "engine/page_model_testing.h"

namespace mlxcel::testing {
namespace {

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    EngineOptions o;
    o.max_sequences = 4, o.max_rows = 32, o.context = 256;
    engine_ = std::move(*Engine::create(family_, backend_, o));
  }
  static Request request(int32_t seed, int64_t max_tokens) {
    Request r;
    r.tokens = {seed % 100, 2, 3};
    r.sampling.seed = static_cast<uint64_t>(seed);
    r.sampling.max_tokens = max_tokens;
    return r;
  }

  PageFamily family_{100, 256, {0}};
  PageOracle oracle_{family_.facts()};
  PageBackend backend_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ServiceTest, ManyThreadsEachGetTheirOwn) {
  Service service(*engine_, {.max_queue = 1000});
  std::atomic<int> right = 0, cancelled = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 6; c++) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 40; i++) {
        const Request asked = request(c * 1000 + i, 1 + i % 30);
        std::vector<int32_t> tokens;
        std::promise<FinishReason> end;
        Request r = asked;
        r.on_token = [&](const TokenEvent& e) {
          tokens.push_back(e.token);
          return true;
        };
        r.on_finish = [&](const FinishEvent& e) { end.set_value(e.reason); };
        const auto id = service.submit(std::move(r));
        ASSERT_TRUE(id) << id.error().message;
        if (i % 10 == 9) service.cancel(*id);
        const FinishReason reason = end.get_future().get();
        const auto expected = oracle_.answer(asked, *asked.sampling.seed, 256);
        if (reason == FinishReason::kCancelled) {
          cancelled++;
          EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), expected.begin()));
        } else {
          right += tokens == expected;
        }
      }
    });
  }
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(right + cancelled, 240);
  service.drain();
  EXPECT_EQ(service.in_flight(), 0);
  EXPECT_EQ(service.stats().finished, 240u);
  EXPECT_TRUE(service.integrity());
}

TEST_F(ServiceTest, TheQueueIsBoundedAndBadRequestsAreToldAtOnce) {
  Service service(*engine_, {.max_queue = 2});
  std::promise<void> hold;
  auto held = hold.get_future().share();
  std::vector<Result<RequestId>> ids;
  for (int i = 0; i < 7; i++) {
    Request r = request(i, 5);
    r.on_token = [held](const TokenEvent&) {
      held.wait();  // the engine's thread stands still
      return true;
    };
    ids.push_back(service.submit(std::move(r)));
  }
  for (int i = 0; i < 6; i++) EXPECT_TRUE(ids[i]);
  ASSERT_FALSE(ids[6]);
  EXPECT_EQ(ids[6].error().code, Code::kExhausted);
  EXPECT_EQ(ids[6].error().message,
            "engine: 6 requests are running or waiting, expected fewer than 6");
  Request bad = request(1, 5);
  bad.tokens.clear();
  EXPECT_EQ(service.submit(bad).error().code, Code::kInvalid);
  hold.set_value();
  service.drain();
  EXPECT_EQ(service.stats().finished, 6u);
  EXPECT_EQ(service.submit(request(1, 5)).error().code, Code::kCancelled);
}

// A client may read the figures, or send its next request, as soon as it has its answer.
TEST_F(ServiceTest, AnEndIsCountedBeforeItIsTold) {
  Service service(*engine_, {.max_queue = 0});
  struct Seen {
    EngineStats stats;
    int32_t in_flight = -1, cached = -1;
  };
  const auto run = [&](int64_t max_tokens, bool cancel) {
    std::promise<Seen> end;
    Request r = request(7, max_tokens);
    r.tokens.assign(100, 5);
    r.on_token = [&](const TokenEvent& e) {
      if (cancel) service.cancel(e.id);
      return true;
    };
    r.on_finish = [&](const FinishEvent& e) {  // the engine's thread can do nothing meanwhile
      end.set_value({service.stats(), service.in_flight(), e.stats.cached_tokens});
    };
    EXPECT_TRUE(service.submit(std::move(r)));
    return end.get_future().get();
  };
  const Seen cold = run(4, false), warm = run(4, false), cancelled = run(-1, true);
  EXPECT_EQ(cold.stats.finished, 1u);
  EXPECT_EQ(cold.stats.prompt_tokens, 100u);
  EXPECT_EQ(cold.stats.generated_tokens, 4u);
  EXPECT_GT(cold.stats.prefix_nodes, 0);
  EXPECT_EQ(warm.stats.finished, 2u);
  EXPECT_GT(warm.cached, 0);
  EXPECT_EQ(warm.stats.cached_tokens, static_cast<uint64_t>(warm.cached));
  EXPECT_EQ(cancelled.stats.cancelled, 1u);
  for (const Seen& s : {cold, warm, cancelled}) {
    EXPECT_EQ(s.in_flight, 0);
    EXPECT_EQ(s.stats.running, 0u);
    EXPECT_EQ(s.stats.pages_free + s.stats.pages_idle, s.stats.pages);
  }
}

// One whose step is held keeps the other from beginning its own; then that one goes on.
TEST_F(ServiceTest, EnginesOnTheSameCoresTakeTurns) {
  PageBackend other_backend;
  EngineOptions o;
  o.max_sequences = 4, o.max_rows = 32, o.context = 256;
  const auto other = std::move(*Engine::create(family_, other_backend, o));
  const auto turns = std::make_shared<Turns>();
  Service first(*engine_, {.max_queue = 0, .turns = turns});
  Service second(*other, {.max_queue = 0, .turns = turns});
  std::atomic<int> drawn = 0;
  bool waited = false;
  Request r = request(1, 3);
  r.on_token = [&, once = true](const TokenEvent&) mutable {
    if (!std::exchange(once, false)) return true;
    Request its = request(2, 3);
    its.on_token = [&](const TokenEvent&) { return ++drawn > 0; };
    EXPECT_TRUE(second.submit(std::move(its)));
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (turns->taken() < 2 && Clock::now() < end) std::this_thread::yield();
    waited = turns->taken() == 2;
    EXPECT_EQ(drawn, 0);
    return true;
  };
  EXPECT_TRUE(first.submit(std::move(r)));
  first.drain();
  second.drain();
  EXPECT_TRUE(waited);
  EXPECT_EQ(drawn, 3);
  EXPECT_EQ(turns->taken(), 0u);
}

TEST_F(ServiceTest, StopEndsEverythingAndTells) {
  std::atomic<int> ended = 0;
  Service service(*engine_, {.max_queue = 100});
  for (int i = 0; i < 50; i++) {
    Request r = request(i, -1);
    r.on_finish = [&](const FinishEvent&) { ended++; };
    ASSERT_TRUE(service.submit(std::move(r)));
  }
  service.stop();
  EXPECT_EQ(ended, 50);
  EXPECT_EQ(service.in_flight(), 0);
}

}  // namespace
}  // namespace mlxcel::testing
