#include "evidence/rounds.h"

#include <gtest/gtest.h>

#include <fstream>

#include "evidence/equal.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

TEST(Rounds, OrderIsABBAWithAMovingStart) {
  const auto order = [](int round) { return round_order(2, round); };
  EXPECT_EQ(order(0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order(1), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(order(2), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(order(3), (std::vector<int>{0, 2, 1}));
  EXPECT_EQ(order(4), (std::vector<int>{2, 0, 1}));
  // Over a whole cycle each arm stands equally often in each place.
  int count[3][3] = {};
  for (int r = 0; r < 6; r++) {
    for (int place = 0; place < 3; place++) count[order(r)[place]][place]++;
  }
  for (const auto& arm : count) {
    for (const int n : arm) EXPECT_EQ(n, 2);
  }
}

TEST(Rounds, KnownNumbers) {
  // Every run is slower than the one before; the order takes the drift out.
  double t = 100;
  const auto r = run_rounds({.arms = {"a", "b"}, .rounds = 6}, [&](int arm) -> Result<double> {
    t += 0.1;
    return arm == 1 ? t * 1.1 : t;
  });
  ASSERT_TRUE(r);
  ASSERT_EQ(r->samples.size(), 3u);
  EXPECT_EQ(r->samples[0].size(), 6u);
  EXPECT_NEAR(r->comparisons[0].ratio, 1.1, 1e-3);
  EXPECT_TRUE(r->comparisons[0].resolved);
  EXPECT_EQ(r->order, "A B N, N B A, B N A, A N B, N A B, B A N");
  const auto m = r->metrics({.arms = {"a", "b"}}, "s");
  EXPECT_EQ(m[2].name, "null");
}

TEST(Rounds, ARoundsFigureIsTheMedianOfItsRuns) {
  int run = 0;  // in each visit of three: 1, 90, 2 times the arm's work
  const RoundsOptions o = {.arms = {"a", "b"}, .rounds = 4, .repeat = 3};
  const auto r = run_rounds(o, [&](int arm) -> Result<double> {
    if (run++ < 3) return 1.0;  // the warm-up
    const double work = arm == 1 ? 10 : 1;
    return work * std::vector<double>{1, 90, 2}[static_cast<size_t>(run - 4) % 3];
  });
  ASSERT_TRUE(r);
  EXPECT_EQ(run, 3 + 4 * 3 * 3);
  EXPECT_EQ(r->samples[1], (std::vector<double>{20, 20, 20, 20}));
  ASSERT_EQ(r->runs[1].size(), 12u);
  EXPECT_EQ(r->runs[1][1], 900);
  EXPECT_NEAR(r->comparisons[0].ratio, 10, 1e-12);
  EXPECT_EQ(r->runs_json(o).at("null").as_array().size(), 12u);
}

TEST(Rounds, Refusals) {
  const auto one = [](int) -> Result<double> { return 1.0; };
  EXPECT_FALSE(run_rounds({.arms = {"a"}}, one));
  EXPECT_FALSE(run_rounds({.arms = {"a", "a"}}, one));
  EXPECT_FALSE(run_rounds({.arms = {"a", "null"}}, one));
  EXPECT_FALSE(run_rounds({.arms = {"a", "b"}, .rounds = 2}, one));
  EXPECT_FALSE(run_rounds({.arms = {"a", "b"}}, [](int) -> Result<double> { return 0.0; }));
  const auto failed = run_rounds({.arms = {"a", "b"}}, [](int) -> Result<double> {
    return Error{Code::kInvalid, "arm b fell over"};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "arm b fell over");
}

TEST(Rounds, AStopKeepsWholeRounds) {
  const auto run = [](int most) {
    return run_rounds(
        {.arms = {"a", "b"}, .rounds = 50}, [](int) -> Result<double> { return 1.0; },
        [most](const RoundsProgress& p) { return p.done < most; });
  };
  const auto r = run(3 + 3 * 4 + 2);  // warm-up, four rounds, two runs of the fifth
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->interrupted);
  EXPECT_EQ(r->samples[0].size(), 4u);
  EXPECT_FALSE(run(3 + 3 * 2));  // two rounds are too few
}

TEST(Rounds, TimeLeftIsTold) {
  std::vector<RoundsProgress> seen;
  const auto r = run_rounds(
      {.arms = {"a", "b"}, .rounds = 3}, [](int) -> Result<double> { return 1.0; },
      [&](const RoundsProgress& p) { return seen.push_back(p), true; });
  ASSERT_TRUE(r);
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_EQ(seen.back().done, seen.back().total);
  EXPECT_EQ(seen.back().seconds_left, 0);
}

TEST(Process, TellsOutputStatusAndTimes) {
  const auto r = run_process("echo out; exit 3");
  ASSERT_TRUE(r);
  EXPECT_EQ(r->output, "out\n");
  EXPECT_EQ(r->status, 3);
  const auto busy = run_process("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1");
  EXPECT_GT(busy->cpu_s, 0.005);
  EXPECT_GT(busy->wall_s, busy->cpu_s + 0.05);
  EXPECT_EQ(run_process("kill -9 $$")->status, 128 + 9);
}

// Programs that answer `generate` as their body says.
class Programs {
 public:
  std::string make(const std::string& name, const std::string& body) {
    const std::string path = testing::TempDir() + "equal_test_" + name;
    std::ofstream(path) << "#!/bin/sh\n[ \"$2\" = --help ] && { echo --show-reasoning; exit 0; }\n"
                        << body << "\n";
    EXPECT_TRUE(run_process("chmod +x " + path));
    return path;
  }
};

EqualResult compared(const std::string& a, const std::string& b, const std::string& flags = "") {
  const auto r = compare_outputs({{a, ""}, {b, flags}, "-m x -p y"});
  EXPECT_TRUE(r) << (r ? "" : r.error().message);
  return r ? *r : EqualResult{};
}

TEST(Equal, Verdicts) {
  Programs p;
  const auto one = p.make("one", "echo an answer"), same = p.make("same", "echo 'an answer'");
  EXPECT_EQ(compared(one, same).verdict, Equality::kEqual);
  const EqualResult differs = compared(one, p.make("other", "echo an ANSWER"));
  EXPECT_EQ(differs.verdict, Equality::kDiffers);
  EXPECT_EQ(differs.why, "at byte 3 of 10; the arm wrote 10");
  // Both are told temperature 0 and to show everything, where a program has such a flag.
  const auto thinks = p.make("thinks",
                             "case \"$*\" in *--help*) echo --show-reasoning;; "
                             "*\"--temp 0 \"*--show-reasoning*) echo an answer;; esac");
  EXPECT_EQ(compared(one, thinks).verdict, Equality::kEqual);
  const auto echo = p.make("echo", "echo \"$@\"");
  EXPECT_EQ(compared(echo, p.make("echo2", "printf '%s ' \"$@\" | sed 's/ $//'; echo")).verdict,
            Equality::kEqual);
  EXPECT_NE(run_process(echo + " generate --temp 0")->output.find("--temp 0"), std::string::npos);
}

TEST(Equal, Refusals) {
  Programs p;
  const auto one = p.make("one", "echo an answer"), copy = p.make("copy", "echo an answer");
  EXPECT_EQ(compared(one, one).why, "both sides are the same file with the same flags");
  EXPECT_EQ(compared(one, copy).why, "both sides are the same bytes with the same flags");
  EXPECT_EQ(compared(one, one, "--isa avx2").verdict, Equality::kEqual);  // another flag set
  EXPECT_EQ(compared(one, copy, "--temp 1").verdict, Equality::kInconclusive);
  EXPECT_EQ(compared(p.make("empty", "true"), one).why, "the baseline wrote nothing");
  EXPECT_EQ(compared(one, p.make("blank", "echo ' '")).why, "the arm wrote nothing");
  const EqualResult random = compared(p.make("random", "date +%N; echo $$"), one);
  EXPECT_EQ(random.verdict, Equality::kInconclusive);
  EXPECT_NE(random.why.find("differs from itself"), std::string::npos);
  EXPECT_FALSE(compare_outputs({{one, ""}, {p.make("fails", "exit 4"), ""}, ""}));
}

}  // namespace
}  // namespace mlxcel
