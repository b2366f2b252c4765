#include "engine/kv_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "engine/page_model_testing.h"

namespace mlxcel::testing {
namespace {

namespace fs = std::filesystem;

// A full group and one with a window; the oracle knows every answer.
struct Served {
  explicit Served(uint64_t page_order_seed, int32_t context = 1024,
                  std::vector<int32_t> windows = {0, 80})
      : family{100, 1024, std::move(windows)} {
    EngineOptions o;
    o.max_sequences = 2, o.max_rows = 96, o.prefill_chunk = 64, o.context = context;
    o.page_order_seed = page_order_seed;
    engine = std::move(*Engine::create(family, backend, o));
    service = std::make_unique<Service>(*engine, ServiceOptions{});
  }

  struct Answer {
    std::vector<int32_t> tokens;
    int32_t cached = 0;
  };
  Answer ask(std::vector<int32_t> prompt) {
    Answer a;
    std::promise<void> end;
    Request r = request(std::move(prompt));
    r.on_token = [&](const TokenEvent& e) {
      a.tokens.push_back(e.token);
      return true;
    };
    r.on_finish = [&](const FinishEvent& e) {
      a.cached = e.stats.cached_tokens;
      end.set_value();
    };
    EXPECT_TRUE(service->submit(std::move(r)));
    end.get_future().wait();
    return a;
  }
  std::vector<int32_t> expected(std::vector<int32_t> prompt) {
    const Request r = request(std::move(prompt));
    return oracle.answer(r, *r.sampling.seed, 1024);
  }
  Status integrity() {
    service->drain();
    return engine->check_integrity();
  }
  static Request request(std::vector<int32_t> prompt) {
    Request r;
    r.tokens = std::move(prompt);
    r.sampling.seed = 7;
    r.sampling.max_tokens = 20;
    return r;
  }

  PageFamily family;
  PageOracle oracle{family.facts()};
  PageBackend backend;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Service> service;
};

std::vector<int32_t> prompt(int32_t length) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < length; i++) tokens.push_back(i * 31 % 97);
  return tokens;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class KvFileTest : public ::testing::Test {
 protected:
  KvFileTest() {
    std::string name = ::testing::TempDir() + "kv_file_XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/one";
  }
  ~KvFileTest() override { fs::remove_all(folder_); }
  // 300 tokens: 4 whole pages, of which the window's group keeps the last ones.
  std::string saved() {
    Served from(0);
    from.ask(prompt(300));
    const auto s = save_kv(*from.service, prompt(300), "model-a", path_);
    EXPECT_TRUE(s) << s.error().message;
    EXPECT_EQ(s->tokens, prompt(256));
    EXPECT_EQ(s->bytes, static_cast<int64_t>(fs::file_size(path_)));
    EXPECT_TRUE(from.integrity());
    return contents(path_);
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string folder_, path_;
};

TEST_F(KvFileTest, AnswersAreEqualAfterARestart) {
  saved();
  Served again(5);  // pages in another order
  const auto r = restore_kv(*again.service, "model-a", path_);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->tokens, prompt(256));
  const auto answer = again.ask(prompt(300));
  EXPECT_EQ(answer.tokens, again.expected(prompt(300)));
  EXPECT_EQ(answer.cached, 256);
  EXPECT_TRUE(again.integrity());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // no draft was left
}

TEST_F(KvFileTest, AChangedFileIsRefusedAndNothingOfItIsUsed) {
  const std::string whole = saved();
  Served again(0);
  for (size_t at = 0; at < whole.size(); at += whole.size() / 97 + 1) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    write(bad);
    EXPECT_FALSE(restore_kv(*again.service, "model-a", path_)) << at;
  }
  for (size_t n = 0; n < whole.size(); n += n < 200 ? 1 : 101) {
    write(whole.substr(0, n));
    EXPECT_FALSE(restore_kv(*again.service, "model-a", path_)) << n;
  }
  write(whole + "x");
  EXPECT_FALSE(restore_kv(*again.service, "model-a", path_));
  const auto answer = again.ask(prompt(300));
  EXPECT_EQ(answer.cached, 0);
  EXPECT_EQ(answer.tokens, again.expected(prompt(300)));
  EXPECT_TRUE(again.integrity());
}

TEST_F(KvFileTest, AFullGroupTakesNoFileOfAWindow) {
  Served from(0, 1024, {80, 80});
  from.ask(prompt(300));
  ASSERT_TRUE(save_kv(*from.service, prompt(300), "model-a", path_));  // whole, and so says it
  Served again(0);
  EXPECT_EQ(restore_kv(*again.service, "model-a", path_).error().code, Code::kCorrupt);
  const auto answer = again.ask(prompt(300));
  EXPECT_EQ(answer.cached, 0);
  EXPECT_EQ(answer.tokens, again.expected(prompt(300)));
  EXPECT_TRUE(again.integrity());
}

TEST_F(KvFileTest, AnotherModelsKvIsRefused) {
  saved();
  Served again(0);
  EXPECT_EQ(restore_kv(*again.service, "model-b", path_).error().code, Code::kInvalid);
  EXPECT_EQ(restore_kv(*again.service, "model-a", path_ + "x").error().code, Code::kNotFound);
  mkfifo((folder_ + "/pipe").c_str(), 0600);
  EXPECT_FALSE(restore_kv(*again.service, "model-a", folder_ + "/pipe"));
  fs::create_symlink(path_, folder_ + "/link");
  EXPECT_FALSE(restore_kv(*again.service, "model-a", folder_ + "/link"));
  EXPECT_TRUE(again.integrity());
}

TEST_F(KvFileTest, ASaveThatFailsLeavesTheOldFile) {
  const std::string whole = saved();
  Served other(0);
  EXPECT_EQ(save_kv(*other.service, prompt(300), "model-a", path_).error().code, Code::kNotFound);
  other.ask(prompt(300));
  EXPECT_FALSE(save_kv(*other.service, prompt(300), "model-a", folder_ + "/none/file"));
  EXPECT_EQ(contents(path_), whole);
  other.service->drain();
  EXPECT_EQ(save_kv(*other.service, prompt(300), "a", path_).error().code, Code::kCancelled);
  EXPECT_TRUE(other.engine->check_integrity());
}

// Held pages may not keep a request from running.
TEST_F(KvFileTest, OneContextStaysFree) {
  Served small(0, 320);  // 2 contexts of 5 pages
  small.ask(prompt(290));
  ASSERT_TRUE(save_kv(*small.service, prompt(290), "a", path_));
  std::promise<Status> held;
  ASSERT_TRUE(small.service->between_steps([&](Engine& e) {
    const auto known = e.hold_known(prompt(290));
    const std::vector<int32_t> all = {0, 0};
    const auto first = e.hold_new(1, all), second = e.hold_new(1, all);
    held.set_value(known && first && !second ? Status(Ok{}) : Error{Code::kInvalid, "held"});
    EXPECT_TRUE(e.check_integrity());
    if (known) e.let_go(*known);
    if (first) e.let_go(*first);
  }));
  EXPECT_TRUE(held.get_future().get());
  EXPECT_TRUE(small.integrity());
}

TEST_F(KvFileTest, SavesAndRestoresBesideRunningRequests) {
  saved();
  Served busy(3);
  std::atomic<bool> stop = false;
  std::thread files([&] {
    for (int i = 0; !stop; i++) {
      const auto r = restore_kv(*busy.service, "model-a", path_);
      EXPECT_TRUE(r || r.error().code == Code::kExhausted) << r.error().message;
      const auto s = save_kv(*busy.service, prompt(256), "model-a", folder_ + "/two");
      EXPECT_TRUE(s || s.error().code != Code::kIo) << s.error().message;
    }
  });
  for (int i = 0; i < 200; i++) {
    std::vector<int32_t> p = prompt(64 + i % 7 * 40);
    p.push_back(i % 90);
    EXPECT_EQ(busy.ask(p).tokens, busy.expected(p));
  }
  stop = true;
  files.join();
  EXPECT_TRUE(busy.integrity());
}

}  // namespace
}  // namespace mlxcel::testing
