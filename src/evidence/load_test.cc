#include "evidence/load.h"

#include <gtest/gtest.h>

#include <set>

#include "base/cat.h"

namespace mlxcel {
namespace {

Outcome answer(double sent, std::vector<double> pieces, int tokens) {
  Outcome o;
  o.sent_s = sent, o.pieces_s = std::move(pieces), o.end_s = o.pieces_s.back();
  o.output_tokens = tokens, o.prompt_tokens = 10, o.status = 200;
  return o;
}

TEST(Load, FiguresAreThoseOfHandAndPaper) {
  std::vector<Outcome> all = {answer(0, {1, 1.5, 2}, 3), answer(1, {1.5, 4}, 2)};
  all.push_back(answer(0, {9}, 100));
  all.back().error = "HTTP 500";  // does not count, also not its time
  LoadOptions o;
  o.ttft_limit_s = 0.6;
  const LoadFigures f = load_figures(all, o);
  EXPECT_EQ(f.good, 2);
  EXPECT_EQ(f.failed, 1);
  EXPECT_DOUBLE_EQ(f.throughput_tok_s, 5.0 / 4);
  EXPECT_DOUBLE_EQ(f.requests_s, 2.0 / 4);
  EXPECT_DOUBLE_EQ(f.goodput_s, 1.0 / 4);  // the first took 1 s to its first token
  EXPECT_DOUBLE_EQ(f.ttft_ms[0], 750);
  EXPECT_DOUBLE_EQ(f.itl_ms[0], 500);   // of 500, 500, 2500
  EXPECT_DOUBLE_EQ(f.itl_ms[1], 2100);  // numpy.percentile([500, 500, 2500], 90)
  EXPECT_DOUBLE_EQ(f.e2e_ms[3], 2990);  // numpy.percentile([2000, 3000], 99)
  EXPECT_DOUBLE_EQ(f.output_tokens, 2.5);
  o.ttft_limit_s = 0, o.itl_limit_s = 1;
  EXPECT_DOUBLE_EQ(load_figures(all, o).goodput_s, 1.0 / 4);  // the second took 2.5 s between two
  EXPECT_EQ(load_figures({}, o).good, 0);
}

TEST(Load, WhatEmbedsCountsItsPrompts) {
  LoadOptions o;
  o.embeds = true, o.texts = 3, o.prompt_words = 4, o.requests = 2;
  for (const LoadRequest& r : plan_load(o, 0)) {
    ASSERT_EQ(r.texts.size(), 3u);
    EXPECT_NE(r.texts[0], r.texts[1]);
    for (const std::string& t : r.texts) EXPECT_EQ(std::count(t.begin(), t.end(), ' '), 3);
  }
  const std::vector<Outcome> all = {answer(0, {1}, 0), answer(1, {4}, 0)};
  EXPECT_DOUBLE_EQ(load_figures(all, o).throughput_tok_s, 20.0 / 4);
  EXPECT_TRUE(embeds("rerank") && embeds("embeddings") && !embeds("chat"));
}

TEST(Load, PlansAreRepeatableAndDistinct) {
  LoadOptions o;
  o.requests = 200, o.rate = 20, o.prompt_words = 30, o.prefix_words = 10, o.warmup = 3;
  const auto a = plan_load(o, 0), again = plan_load(o, 0), b = plan_load(o, 1);
  std::set<std::string> prompts;
  for (size_t i = 0; i < a.size(); i++) {
    EXPECT_EQ(a[i].prompt, again[i].prompt);
    EXPECT_EQ(a[i].due_s, again[i].due_s);
    EXPECT_EQ(std::count(a[i].prompt.begin(), a[i].prompt.end(), ' '), 29);
    prompts.insert(a[i].prompt), prompts.insert(b[i].prompt);
  }
  EXPECT_EQ(prompts.size(), 400u);
  const std::string prefix = a[0].prompt.substr(0, 30);
  for (const LoadRequest& r : b) EXPECT_TRUE(r.prompt.starts_with(prefix));
  // 200 arrivals at 20 a second: 10 s, with a standard deviation of 0.7 s.
  EXPECT_NEAR(a.back().due_s, 10, 3.5);
  EXPECT_EQ(plan_load(o, -1).size(), 3u);
}

TEST(Load, TablesHoldEveryRequest) {
  std::vector<std::vector<Outcome>> repeats = {{answer(0, {1, 2}, 2)}, {answer(0, {1}, 1)}};
  repeats[1][0].error = "a, \"b\"\n";
  const std::string csv = load_csv(repeats);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_NE(csv.find("\n0,0,200,0,1000,1000,1000,2000,10,0,2,2,\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("1,0,200,0,1000,0,0,1000,10,0,1,1,a   b  \n"), std::string::npos) << csv;
  const std::string svg = load_svg(repeats, "a < b");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Load, MetricsHaveASampleForEachRepetition) {
  std::vector<LoadFigures> figures(3);
  EXPECT_TRUE(load_metrics(figures).empty());
  for (LoadFigures& f : figures) f.throughput_tok_s = 7, f.ttft_ms[2] = 3;
  const auto metrics = load_metrics(figures);
  EXPECT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[1].name, "ttft_ms_p95");
  for (const Metric& m : metrics) EXPECT_EQ(m.samples.size(), 3u);
}

}  // namespace
}  // namespace mlxcel
