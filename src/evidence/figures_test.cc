#include "evidence/figures.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "evidence/csv.h"
#include "evidence/plot.h"
#include "evidence/record.h"
#include "evidence/table.h"

namespace mlxcel {
namespace {

struct Folder {
  std::string path, name;  // of the last record
  explicit Folder(const char* test) : path(testing::TempDir() + "figures_test_" + test) {
    std::filesystem::remove_all(path);
  }
  void add(std::vector<double> decode, const std::string& model = "tiny",
           const std::string& commit = "0123abcd") {
    RecordParts p;
    p.kind = "decode", p.command = {"mlxcel"}, p.program.version = "0.1.0";
    p.program.commit = commit, p.machine.label = "zen4-2c", p.machine.cpu = "x";
    p.model = {model, "Q4_1", {{"a.gguf", 1, std::string(64, '0')}}};
    p.metrics = {{"decode_tok_s", "tok/s", std::move(decode)},
                 {"prefill_tok_s", "tok/s", {2000, 2000, 2000}}};
    p.results = {{"prompt_tokens", 512},
                 {"gen_tokens", 128},
                 {"share", 0.8125},
                 {"backend", json::object{{"name", "cpu"}}},
                 {"pairs", json::array{1.5, 2.5}}};
    const auto written = write_record(path, make_record(p));
    ASSERT_TRUE(written) << written.error().message;
    name = *written;
  }
  RecordStore store() const {
    const auto s = read_records(path);
    EXPECT_TRUE(s);
    return *s;
  }
};

std::string document(const std::string& record, const std::string& figure) {
  return "# Title\n\n<!-- evidence " + record +
         ": decodes {metrics.decode_tok_s.median:1} tok/s, {results.share:0%} of {machine.label} "
         "-->\n" +
         figure + "<!-- /evidence -->\ntail\n";
}

TEST(Figures, AreFilledFromTheRecord) {
  Folder f("filled");
  f.add({100, 101.26, 102});
  const json::object r = f.store().records.at(0).content;
  EXPECT_EQ(*fill("{metrics.decode_tok_s.median:1}", r), "101.3");
  EXPECT_EQ(*fill("a {results.share:1%} b {results.pairs.1:0}", r), "a 81.2 % b 2");
  EXPECT_EQ(*fill("{machine.label}, {results.prompt_tokens}", r), "zen4-2c, 512");
  EXPECT_FALSE(fill("{results.absent}", r));
  EXPECT_FALSE(fill("{machine.label:2}", r));
  EXPECT_FALSE(fill("{results.share:x}", r));
  EXPECT_FALSE(fill("{results.share", r));
}

TEST(Figures, RenderedDocumentsCheck) {
  Folder f("render");
  f.add({100, 101, 102});
  const RecordStore store = f.store();
  const RenderedDocument first = render(document(f.name, ""), store, "evidence");
  EXPECT_EQ(first.problems.size(), 1u);
  EXPECT_NE(first.text.find("decodes 101.0 tok/s, 81 % of zen4-2c ([record](evidence/" + f.name),
            std::string::npos)
      << first.text;
  EXPECT_NE(first.text.find("\ntail\n"), std::string::npos);
  const RenderedDocument again = render(first.text, store, "evidence");
  EXPECT_TRUE(again.problems.empty());
  EXPECT_EQ(again.text, first.text);
  // A figure changed by hand.
  std::string edited = first.text;
  edited.replace(edited.find("101.0"), 5, "121.0");
  const RenderedDocument found = render(edited, store, "evidence");
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].substr(0, 7), "line 4:");
  EXPECT_EQ(found.text, first.text);
}

TEST(Figures, Refusals) {
  Folder f("refusals");
  f.add({100, 101, 120});
  const RecordStore store = f.store();
  const auto problem = [&](const std::string& text) {
    const auto r = render(text, store, "evidence");
    return r.problems.empty() ? "" : r.problems[0];
  };
  EXPECT_NE(problem(document(f.name, "")).find("not publishable"), std::string::npos);
  for (const char* commit : {"0123abcd-dirty", "unknown"}) {
    f.add({100, 101, 102}, "tiny", commit);
    const auto r = render(document(f.name, ""), f.store(), "evidence");
    ASSERT_EQ(r.problems.size(), 1u);
    EXPECT_NE(r.problems[0].find("built from a commit"), std::string::npos) << r.problems[0];
  }
  EXPECT_NE(problem(document("gone.json", "")).find("found none"), std::string::npos);
  EXPECT_NE(problem("<!-- evidence x.json: a -->\n").find("expected"), std::string::npos);
  EXPECT_EQ(problem("```\n<!-- evidence x.json: a -->\n```\n"), "");
}

TEST(Figures, AnEditedRecordIsNoRecord) {
  Folder f("edited");
  f.add({100, 101, 102});
  std::string text = *read_whole(f.path + "/" + f.name);
  text.replace(text.find("[100, 101, 102]"), 15, "[100, 101, 103]");
  std::ofstream(f.path + "/" + f.name) << text;
  const RecordStore store = f.store();
  EXPECT_TRUE(store.records.empty());
  EXPECT_FALSE(store.problems.empty());
}

TEST(Csv, HasThePagesNamesAndColumns) {
  Folder f("csv");
  f.add({100, 101, 102});
  auto tables = csv_tables(f.store());
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables.begin()->first.substr(0, 12), "cpu_zen4-2c_");
  EXPECT_TRUE(tables.begin()->first.ends_with("_single_tiny.csv"));
  const std::string text = tables.begin()->second;
  EXPECT_TRUE(text.starts_with(
      "model,prompt_tokens,generated_tokens,prefill_ms,prefill_tok_s,decode_ms,decode_tok_s,date,"
      "hardware,mlxcel_version,mlxcel_commit,mlx_commit,"));
  EXPECT_NE(text.find("\ntiny,512,128,256,2000,"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(",in place,1,ok\n"));
  f.add({100, 101, 102}, "other, larger");
  tables = csv_tables(f.store());
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables.begin()->first.find("single"), std::string::npos);
  EXPECT_NE(tables.begin()->second.find("\"other, larger\""), std::string::npos);
}

TEST(Csv, ServersHaveARowForEachLoad) {
  RecordParts p;
  p.kind = "serve", p.command = {"mlxcel"}, p.machine.label = "h";
  p.model = {"tiny", "Q4_1", {}};
  p.metrics = {{"throughput_tok_s", "tok/s", {10, 12, 11}}, {"ttft_ms_p95", "ms", {7}}};
  p.results = {{"prompt_tokens", 512},
               {"output_tokens", 64},
               {"failed", 1},
               {"backend", {{"name", "mlxcel"}}},
               {"load", {{"endpoint", "chat"}, {"texts", 1}, {"concurrency", 4}, {"rate", 0.5}}}};
  json::object r = make_record(p);
  EXPECT_EQ(csv_table_stem(r).substr(0, 15), "mlxcel_h_batch_");
  const auto t = parse_table(csv_table_stem(r) + ".csv",
                             csv_header(TableKind::kBatch) + csv_record_row(r) +
                                 csv_status_row("x", "FAIL:bench", "h", TableKind::kBatch));
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->name.kind, "batch");
  EXPECT_EQ(t->rows.at(0).number("throughput_tok_s"), 11);
  EXPECT_EQ(t->rows.at(0).number("ttft_ms_p95"), 7);
  EXPECT_EQ(t->rows.at(0).at("concurrency"), "4");
  EXPECT_EQ(t->rows.at(0).at("rate"), "0.5");
  EXPECT_EQ(t->rows.at(0).at("goodput_s"), "");
  EXPECT_EQ(t->rows.at(0).status(), "NOT_PUBLISHABLE");  // its spread
  EXPECT_EQ(t->rows.at(1).status(), "FAIL:bench");
  r.at("results").at("load").as_object()["endpoint"] = "rerank";
  EXPECT_EQ(csv_table_stem(r).substr(0, 20), "mlxcel_h_embeddings_");
}

TEST(Plot, DrawsEachRecord) {
  Folder f("plot");
  f.add({100, 101, 102});
  f.add({200, 201, 202}, "other");
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at++) n++;
    return n;
  };
  const auto both = plot(f.store(), {});
  ASSERT_TRUE(both);
  EXPECT_EQ(count(*both, "<circle"), 2);
  EXPECT_EQ(count(*plot(f.store(), {.model = "other"}), "<circle"), 1);
  EXPECT_FALSE(plot(f.store(), {.metric = "absent"}));
}

}  // namespace
}  // namespace mlxcel
