#include "evidence/compare.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "evidence/calendar.h"

namespace mlxcel {
namespace {

constexpr const char* kHeader =
    "model,prompt_tokens,generated_tokens,decode_tok_s,date,hardware,mlxcel_commit,status\n";

BenchTable table(const std::string& file, const std::string& rows,
                 const std::string& header = kHeader) {
  const auto t = parse_table("somewhere/" + file, header + rows);
  EXPECT_TRUE(t) << (t ? "" : t.error().message);
  return t ? *t : BenchTable{};
}

// A row of `kHeader`.
std::string row(const std::string& model, double speed, const std::string& date,
                const std::string& commit = "0123abcd", int prompt = 512,
                const std::string& status = "ok", const std::string& host = "m5max") {
  return cat(model, ",", prompt, ",128,", speed, ",", date, ",", host, ",", commit, ",", status,
             "\n");
}

const char* const kBefore = "metal_m5max_2026-09-06.csv";
const char* const kAfter = "metal_m5max_2026-09-09.csv";

TableComparison compared(const BenchTable& a, const BenchTable& b, CompareOptions o = {},
                         const std::vector<BenchTable>& others = {},
                         const std::string& catalog = "name\taliases\n") {
  const auto names = ModelNames::parse("catalog.tsv", catalog);
  EXPECT_TRUE(names) << (names ? "" : names.error().message);
  return compare_tables(a, b, others, *names, o);
}

bool says(const std::vector<std::string>& all, const std::string& part) {
  for (const std::string& s : all) {
    if (s.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string drop_of(const TableComparison& c, const std::string& model) {
  for (const DroppedRow& d : c.drops) {
    if (d.model == model) return d.reason;
  }
  return "";
}

TEST(Calendar, CountsDays) {
  EXPECT_EQ(*day_number("2026-09-01") - *day_number("2026-08-31"), 1);
  EXPECT_EQ(*day_number("2027-01-01") - *day_number("2026-12-31"), 1);
  EXPECT_EQ(*day_number("2024-03-01") - *day_number("2024-02-28"), 2);
  for (const char* bad : {"2026-02-29", "2026-13-01", "2026-00-10", "20260901", "2026-9-1", "",
                          "2026-09-0x", "+026-09-01"})
    EXPECT_FALSE(day_number(bad)) << bad;
}

TEST(Table, ReadsNames) {
  const auto n = parse_table_name("metal_m5max_vlm_2026-09-06.csv");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->harness, "metal");
  EXPECT_EQ(n->kind, "vlm");
  const auto single = parse_table_name("cpu_zen4-2c_2026-11-30_single_a_b.csv");
  ASSERT_TRUE(single);
  EXPECT_EQ(single->model, "a_b");
  EXPECT_EQ(parse_table_name("2026-05-08_m1-ultra_vlm.csv")->hardware, "m1-ultra");
  for (const char* bad : {"x.csv", "a_b_c.csv", "cpu_h_2026-02-30.csv", "cpu_h_2026-02-03_x.csv",
                          "cpu_h_2026-02-03.txt", "cpu_h_vlm.csv"})
    EXPECT_FALSE(parse_table_name(bad)) << bad;
}

TEST(Table, RefusesWhatWasCut) {
  const auto problem = [](const std::string& text) {
    const auto t = parse_table(kBefore, text);
    return t ? "" : t.error().message;
  };
  EXPECT_EQ(problem("model,date\na,2026-09-06\n"), "");
  EXPECT_NE(problem("model,date\na,2026-09-06").find("cut off"), std::string::npos);
  EXPECT_NE(problem("model,date,x\na,2026-09-06\n").find("line 2: expected 3 cells"),
            std::string::npos);
  EXPECT_NE(problem("model,date\n\"a,2026-09-06\n").find("cut off"), std::string::npos);
  EXPECT_NE(problem("model,model\na,b\n").find("twice"), std::string::npos);
  EXPECT_NE(problem("name\na\n").find("model"), std::string::npos);
  EXPECT_NE(problem("model,date\na,2026-09-31\n").find("date"), std::string::npos);
  EXPECT_NE(problem("").find("header"), std::string::npos);
  EXPECT_FALSE(parse_table("notes.csv", "model\n"));
}

TEST(Table, QuotedCellsComeBack) {
  const std::vector<std::string> cells = {"a, \"b\"", "", "two\nlines", "plain"};
  const auto t = parse_table(kBefore, "model,x,y,z\n" + csv_line(cells) + "\n");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->rows.at(0).at("model"), cells[0]);
  EXPECT_EQ(t->rows.at(0).at("y"), cells[2]);
  EXPECT_EQ(t->rows.at(0).at("date"), "2026-09-06");  // of the file's name
}

TEST(Compare, KnownNumbers) {
  const auto c = compared(table(kBefore, row("a", 100, "2026-09-06") + row("b", 50, "2026-09-06") +
                                             row("c", 10, "2026-09-06")),
                          table(kAfter, row("a", 110, "2026-09-09") + row("b", 51, "2026-09-09") +
                                            row("c", 8, "2026-09-09")));
  EXPECT_TRUE(c.refusals.empty());
  ASSERT_EQ(c.pairs.size(), 3u);
  EXPECT_NEAR(c.pairs[0].ratio, 1.1, 1e-12);
  EXPECT_TRUE(c.pairs[0].moved);
  EXPECT_FALSE(c.pairs[1].moved);
  EXPECT_NEAR(c.median_ratio, 1.02, 1e-12);
  EXPECT_NEAR(c.geometric_mean, std::cbrt(1.1 * 1.02 * 0.8), 1e-12);
  const std::string text = comparison_text(c, {});
  EXPECT_NE(text.find("3 pairs, median ratio 1.020"), std::string::npos) << text;
  EXPECT_NE(text.find("2 moved by more than 3 %"), std::string::npos);
  const std::string svg = comparison_svg(c, {});
  EXPECT_NE(svg.find("1.100"), std::string::npos);
  EXPECT_NE(svg.find("#c33"), std::string::npos);
}

TEST(Compare, Refusals) {
  const auto refusals = [](const BenchTable& a, const BenchTable& b, const CompareOptions& o = {}) {
    const auto c = compared(a, b, o);
    EXPECT_TRUE(c.pairs.empty());
    return c.refusals;
  };
  const std::string a = row("a", 100, "2026-09-06"), b = row("a", 110, "2026-09-09");
  EXPECT_TRUE(says(refusals(table("metal_m5max_vlm_2026-09-06.csv", a), table(kAfter, b)), "vlm"));
  EXPECT_TRUE(says(refusals(table("cuda_m5max_2026-09-06.csv", a), table(kAfter, b)), "harness"));
  EXPECT_TRUE(says(refusals(table(kBefore, a),
                            table(kAfter, row("a", 9, "2026-09-09", "0123abcd", 512, "ok", "m1"))),
                   "host m5max against m1"));
  EXPECT_TRUE(
      says(refusals(table(kBefore, a), table(kAfter, row("a", 110, "2026-09-09", "ffffffff"))),
           "mlxcel_commit 0123abcd against ffffffff"));
  EXPECT_TRUE(says(refusals(table(kBefore, row("a", 100, "2026-09-10")), table(kAfter, b)),
                   "--before is of"));
  EXPECT_TRUE(
      says(refusals(table(kBefore, a), table(kAfter, row("b", 1, "2026-09-09"))), "no pair"));
  EXPECT_TRUE(says(refusals(table(kBefore, ""), table(kAfter, "")), "no pair"));
  CompareOptions change;
  change.allow_commit_change = true;
  EXPECT_EQ(
      compared(table(kBefore, a), table(kAfter, row("a", 110, "2026-09-09", "ffffffff")), change)
          .pairs.size(),
      1u);
}

TEST(Compare, References) {
  const std::string header =
      "model,prompt_tokens,generated_tokens,decode_tok_s,date,hardware,baseline_version\n";
  const auto reference = [&](const std::string& date, const std::string& version = "mlx-lm-0.31") {
    return table("pylm_m5max_" + date + ".csv",
                 cat("a,512,128,80,", date, ",m5max,", version, "\n"), header);
  };
  const BenchTable ours = table("metal_m5max_2026-09-01.csv", row("a", 84, "2026-09-01"));
  CompareOptions o;
  EXPECT_TRUE(says(compared(reference("2026-09-01"), ours).refusals, "--reference"));
  o.reference = true;
  // 1 day over a month's end, not 70.
  EXPECT_NEAR(compared(reference("2026-08-31"), ours, o).median_ratio, 1.05, 1e-12);
  EXPECT_TRUE(says(compared(reference("2026-08-30"), ours, o).refusals, "2 days"));
  EXPECT_TRUE(says(compared(reference("2026-09-03"), ours, o).refusals, "2 days"));
  o.max_date_gap_days = 2;
  EXPECT_EQ(compared(reference("2026-08-30"), ours, o).pairs.size(), 1u);
  EXPECT_TRUE(says(compared(reference("2026-09-01", "none"), ours, o).refusals, "another program"));
}

TEST(Compare, HistoricalVersions) {
  const std::string header =
      "model,prompt_tokens,generated_tokens,decode_tok_s,date,hardware,mlx_version\n";
  const BenchTable old =
      table("metal_m5max_2026-04-04.csv", "a,512,128,70,2026-04-04,m5max,0.29.1\n", header);
  const BenchTable now = table(kAfter, row("a", 84, "2026-09-09"));
  EXPECT_TRUE(says(compared(old, now).refusals, "mlx_version 0.29.1"));
  CompareOptions o;
  o.allow_commit_change = true;
  EXPECT_NEAR(compared(old, now, o).median_ratio, 1.2, 1e-12);
}

TEST(Compare, Drops) {
  const BenchTable before =
      table(kBefore, row("a", 100, "2026-09-06") + row("long", 100, "2026-09-06", "0123abcd", 570) +
                         row("longer", 100, "2026-09-06", "0123abcd", 600) +
                         row("failed", 0, "2026-09-06", "0123abcd", 512, "FAIL:bench") +
                         row("bge-m3", 9, "2026-09-06") + row("twice", 1, "2026-09-06") +
                         row("twice", 2, "2026-09-06") + row("gone", 1, "2026-09-06") +
                         row("alias", 0, "2026-09-06", "0123abcd", 512, "SKIP:duplicate_of=a"));
  const BenchTable after =
      table(kAfter, row("a", 100, "2026-09-09") + row("long", 100, "2026-09-09", "0123abcd", 530) +
                        row("longer", 100, "2026-09-09") + row("failed", 3, "2026-09-09") +
                        row("bge-m3", 9, "2026-09-09") + row("twice", 1, "2026-09-09") +
                        row("new", 1, "2026-09-09") +
                        row("unsteady", 1, "2026-09-09", "0123abcd", 512, "NOT_PUBLISHABLE"));
  const auto c = compared(before, after);
  ASSERT_EQ(c.pairs.size(), 2u);
  EXPECT_NE(drop_of(c, "longer").find("prompt_tokens 600 against 512"), std::string::npos);
  EXPECT_NE(drop_of(c, "failed").find("FAIL:bench"), std::string::npos);
  EXPECT_NE(drop_of(c, "bge-m3").find("roster"), std::string::npos);
  EXPECT_NE(drop_of(c, "twice").find("more than one row"), std::string::npos);
  EXPECT_NE(drop_of(c, "gone").find("only in metal_m5max_2026-09-06"), std::string::npos);
  EXPECT_NE(drop_of(c, "new").find("only in metal_m5max_2026-09-09"), std::string::npos);
  EXPECT_NE(drop_of(c, "alias").find("SKIP:duplicate_of=a"), std::string::npos);
  EXPECT_NE(drop_of(c, "unsteady").find("NOT_PUBLISHABLE"), std::string::npos);
}

TEST(Compare, OtherWorkIsDropped) {
  const std::string columns[] = {"batch", "width", "mode", "rotation", "texts"};
  const std::string ours[] = {"1", "1", "warm", "1", "4"};
  const std::string other[] = {"8", "4", "cold", "12", "9"};
  std::string header =
      "model,prompt_tokens,generated_tokens,decode_tok_s,date,hardware,mlxcel_commit";
  for (const std::string& c : columns) header += "," + c;
  // The same work of each model but for the column that it is named after.
  const auto rows = [&](const std::string& date, bool differ) {
    std::string text = header + "\n";
    for (const std::string& model : columns) {
      text += model + ",512,128,100," + date + ",m5max,0123abcd";
      for (size_t i = 0; i < std::size(columns); i++)
        text += "," + (differ && columns[i] == model ? other[i] : ours[i]);
      text += "\n";
    }
    return text + "same,512,128,100," + date + ",m5max,0123abcd,1,1,warm,1,4\n";
  };
  const auto read = [](const std::string& file, const std::string& text) {
    const auto t = parse_table(file, text);
    EXPECT_TRUE(t) << (t ? "" : t.error().message);
    return *t;
  };
  const auto c =
      compared(read(kBefore, rows("2026-09-06", false)), read(kAfter, rows("2026-09-09", true)));
  ASSERT_EQ(c.pairs.size(), 1u);
  for (size_t i = 0; i < std::size(columns); i++)
    EXPECT_EQ(drop_of(c, columns[i]), columns[i] + " " + ours[i] + " against " + other[i]);
}

TEST(Compare, SupersededRowsAreWarnedOf) {
  const BenchTable before = table(kBefore, row("a", 100, "2026-09-06"));
  const BenchTable after = table(kAfter, row("a", 110, "2026-09-09"));
  const auto warned = [&](const std::string& file, const std::string& rows) {
    return says(compared(before, after, {}, {table(file, rows)}).warnings, "superseded");
  };
  EXPECT_TRUE(warned("metal_m5max_2026-09-07.csv", row("a", 109, "2026-09-07")));
  EXPECT_TRUE(warned("metal_m5max_2026-09-07_single_a.csv", row("a", 109, "2026-09-07")));
  EXPECT_FALSE(warned("metal_m5max_2026-09-05.csv", row("a", 109, "2026-09-05")));
  EXPECT_FALSE(warned("pylm_m5max_2026-09-07.csv", row("a", 109, "2026-09-07")));
  EXPECT_FALSE(
      warned("metal_m1_2026-09-07.csv", row("a", 109, "2026-09-07", "0123abcd", 512, "ok", "m1")));
}

TEST(Compare, LoadsOfAServerAreRowsOfTheirOwn) {
  const std::string header =
      "model,prompt_tokens,generated_tokens,endpoint,concurrency,rate,throughput_tok_s,date,"
      "hardware,mlxcel_commit\n";
  const auto rows = [&](const std::string& date, double factor, const std::string& endpoint) {
    return table("mlxcel_h_batch_" + date + ".csv",
                 cat("a,512,64,", endpoint, ",1,0,", 10 * factor, ",", date, ",h,0123abcd\n",
                     "a,512,64,", endpoint, ",4,0,", 30 * factor, ",", date, ",h,0123abcd\n",
                     "a,512,64,", endpoint, ",4,2,", 20 * factor, ",", date, ",h,0123abcd\n"),
                 header);
  };
  CompareOptions o;
  o.metric = "throughput_tok_s";
  const auto c = compared(rows("2026-09-06", 1, "chat"), rows("2026-09-09", 2, "chat"), o);
  ASSERT_EQ(c.pairs.size(), 3u);
  EXPECT_EQ(c.pairs[0].model, "a at 1");
  EXPECT_EQ(c.pairs[1].model, "a at 4");
  EXPECT_EQ(c.pairs[2].model, "a at 4, 2/s");
  EXPECT_DOUBLE_EQ(c.median_ratio, 2);
  const auto other =
      compared(rows("2026-09-06", 1, "chat"), rows("2026-09-09", 2, "completions"), o);
  EXPECT_TRUE(other.pairs.empty());
  EXPECT_NE(drop_of(other, "a at 1").find("endpoint"), std::string::npos);
}

TEST(Compare, NamesResolveThroughTheCatalog) {
  const auto c = compared(table(kBefore, row("old-name", 100, "2026-09-06")),
                          table(kAfter, row("name", 110, "2026-09-09")), {}, {},
                          "name\taliases\tfamily\nname\told-name;older\tllama\nx\t\tbert\n");
  ASSERT_EQ(c.pairs.size(), 1u);
  EXPECT_EQ(c.pairs[0].model, "name");
  EXPECT_FALSE(ModelNames::parse("t", "name\taliases\na\tx\nb\tx\n"));  // two meanings
  EXPECT_FALSE(ModelNames::parse("t", "name\taliases\na\n"));
  EXPECT_FALSE(ModelNames::parse("t", "model\n"));
  EXPECT_TRUE(ModelNames::parse("t", "name\taliases\tfamily\nx\ty\tmodern_bert\n")->embeds("y"));
  EXPECT_FALSE(ModelNames::parse("t", "name\taliases\n")->embeds("tiger-8b"));
}

TEST(Compare, WarnsOfPinsAndDirtyTrees) {
  const std::string header =
      "model,prompt_tokens,generated_tokens,decode_tok_s,mlxcel_commit,mlx_commit\n";
  const auto c = compared(table(kBefore, "a,512,128,10,0123abcd-dirty,aaaaaaaa\n", header),
                          table(kAfter, "a,512,128,10,0123abcd-dirty,bbbbbbbb\n", header));
  EXPECT_TRUE(says(c.warnings, "mlx_commit differs"));
  EXPECT_TRUE(says(c.warnings, "names no one source"));
}

}  // namespace
}  // namespace mlxcel
