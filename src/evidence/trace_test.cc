#include "evidence/trace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mlxcel {
namespace {

// A row whose reference decides by `gap`.
TraceRow row(int32_t position, double gap, double nll = 1) {
  const auto top = static_cast<float>(10 + gap);
  return {position, 7, 3, nll, {{1, top}, {2, 10}, {3, 9}}};
}

Trace trace(std::vector<TraceRow> rows) {
  return {{{"chunk", "5"}, {"prefill", "0"}, {"ids_sha256", "x"}, {"commit", "a"}},
          std::move(rows)};
}

TEST(TraceCompare, KnownNumbers) {
  const Trace a = trace({row(0, 0.05), row(1, 0.3), row(2, 3), row(3, 8), row(4, 0)});
  Trace b = a;
  std::swap(b.rows[0].top[0], b.rows[0].top[1]);  // the runner-up, near a tie
  b.rows[1].top = {{3, 11}, {1, 10.3f}};          // the third
  b.rows[3].top = {{99, 30}, {1, 18}};            // none of the three
  for (TraceRow& r : b.rows) r.nll = 1.5;
  b.facts["commit"] = "b";
  const auto c = compare_traces(a, b, 1.0);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->positions, 5);
  EXPECT_EQ(c->differ, 3);
  EXPECT_EQ(c->decided, 2);
  EXPECT_EQ(c->decided_differ, 1);
  EXPECT_EQ(c->ranks, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(c->beyond, 1);
  // 0 to 0.1: two positions, one differs; 0.25 to 0.5: one; 2 to 4: one, equal; 4 and more: one.
  EXPECT_EQ(c->buckets[0].positions, 2);
  EXPECT_EQ(c->buckets[0].differ, 1);
  EXPECT_EQ(c->buckets[2].differ, 1);
  EXPECT_EQ(c->buckets[5].positions, 1);
  EXPECT_EQ(c->buckets[5].differ, 0);
  EXPECT_EQ(c->buckets[6].differ, 1);
  EXPECT_NEAR(c->reference_perplexity, std::exp(1.0), 1e-12);
  EXPECT_NEAR(c->other_perplexity, std::exp(1.5), 1e-12);
  EXPECT_EQ(c->delta[4], 2);  // candidate 3 of row 1: 9 against 11
  EXPECT_NE(c->verdict.find("50.000 %"), std::string::npos) << c->verdict;
  const std::string text = trace_comparison_text(*c);
  EXPECT_NE(text.find("commit: a against b"), std::string::npos);
  EXPECT_NE(text.find("candidate 3: 1"), std::string::npos) << text;
}

TEST(TraceCompare, Verdicts) {
  const Trace a = trace({row(0, 0.05), row(1, 3)});
  const auto says = [&](const Trace& b, const char* part, double gap = 1) {
    const auto c = compare_traces(a, b, gap);
    return c && c->verdict.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(a, "equal"));
  Trace b = a;
  b.rows[0].top[0].second += 0.01f;
  EXPECT_TRUE(says(b, "same token at every position"));
  std::swap(b.rows[0].top[0], b.rows[0].top[1]);
  EXPECT_TRUE(says(b, "near a tie"));
  EXPECT_TRUE(says(b, "decides nowhere", 100));
  std::swap(b.rows[1].top[0], b.rows[1].top[1]);
  EXPECT_TRUE(says(b, "100.000 %"));
}

TEST(TraceCompare, Refusals) {
  const Trace a = trace({row(0, 1), row(1, 1)});
  const auto why = [&](const Trace& b) {
    const auto c = compare_traces(a, b, 1);
    return c ? "" : c.error().message;
  };
  EXPECT_NE(why(trace({row(0, 1)})).find("lengths"), std::string::npos);
  Trace b = a;
  b.rows[1].target = 8;
  EXPECT_NE(why(b).find("row 1: expected position 1 and target 7"), std::string::npos);
  b = a, b.facts["chunk"] = "8";
  EXPECT_NE(why(b).find("chunk"), std::string::npos);
  b = a, b.facts["ids_sha256"] = "y";
  EXPECT_NE(why(b).find("ids_sha256"), std::string::npos);
  EXPECT_FALSE(compare_traces(trace({}), trace({}), 1));
}

TEST(TraceText, ComesBack) {
  const Trace a = trace({row(0, 0.05, 1.0 / 3), row(1, 3)});
  const std::string text = trace_text(a);
  const auto b = parse_trace("t.tsv", text);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->facts, a.facts);
  EXPECT_EQ(trace_text(*b), text);
  const auto why = [](const std::string& bad) {
    const auto t = parse_trace("t.tsv", bad);
    return t ? "" : t.error().message;
  };
  EXPECT_NE(why(text.substr(0, text.size() - 1)).find("cut off"), std::string::npos);
  EXPECT_NE(why(text.substr(0, text.rfind('#'))).find("cut off"), std::string::npos);
  std::string edited = text;
  edited.replace(edited.find("\t3\t"), 3, "\tnan\t");
  EXPECT_NE(why(edited).find("finite"), std::string::npos) << edited;
  edited.replace(edited.find("nan"), 3, "inf");
  EXPECT_NE(why(edited).find("finite"), std::string::npos);
  EXPECT_NE(why("x\n").find("finite number"), std::string::npos);
  EXPECT_NE(why("# rows\t0\n").find("schema"), std::string::npos);
}

}  // namespace
}  // namespace mlxcel
