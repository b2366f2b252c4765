#include "evidence/report.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

StoredRecord decode(const std::string& name, const std::string& label, double speed,
                    const std::string& time, const std::string& commit = "0123abcd",
                    const std::string& baseline = "none", double noise = 0) {
  RecordParts p;
  p.kind = "decode", p.command = {"mlxcel"}, p.program.version = "0.1.0";
  p.program.commit = commit, p.program.baseline_version = baseline;
  p.machine.label = label, p.machine.cpu = "A CPU", p.model = {"tiny", "Q4_1", {}};
  p.metrics = {{"decode_tok_s", "tok/s", {speed - noise, speed, speed + noise}},
               {"prefill_tok_s", "tok/s", {2000, 2000, 2000}}};
  p.results = {{"prompt_tokens", 512},
               {"gen_tokens", 128},
               {"decode_limit_fraction", 0.8},
               {"backend", {{"name", "cpu"}, {"threads", 2}}}};
  json::object r = make_record(p);
  r["time"] = time;
  return {name, std::move(r)};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, NewestOfEachAndNothingUnsteady) {
  RecordStore store;
  store.records = {decode("new.json", "a", 120, "2026-11-30T10:00:00Z"),
                   decode("old.json", "a", 100, "2026-11-29T10:00:00Z"),
                   decode("peer.json", "a", 90, "2026-11-30T10:00:00Z", "0123abcd", "mlx-lm-0.32"),
                   decode("noisy.json", "a", 500, "2026-11-30T11:00:00Z", "0123abcd", "none", 50)};
  const auto files = evidence_report(store, "../evidence");
  ASSERT_TRUE(files);
  const std::string& page = files->at("a.md");
  EXPECT_TRUE(has(page,
                  "| 120.0 | 0.0 % | 80 % | 0123abcd | 2026-11-30 | "
                  "[record](../evidence/new.json) |"))
      << page;
  EXPECT_FALSE(has(page, "old.json"));
  EXPECT_TRUE(has(page, "| mlx-lm-0.32 | 512 + 128, 2 threads |"));
  EXPECT_FALSE(has(page, "500.0"));
  EXPECT_TRUE(has(page, "- [noisy.json](../evidence/noisy.json): [\"decode_tok_s: spread 20 %"));
  EXPECT_FALSE(has(page, "Mixed versions"));
  EXPECT_TRUE(has(files->at("a.svg"), "120.0"));
  EXPECT_FALSE(evidence_report({}, ""));
}

TEST(Report, MixedVersionsAreMarked) {
  RecordStore store;
  store.records = {decode("x.json", "a", 120, "2026-11-30T10:00:00Z", "aaaaaaaa"),
                   decode("y.json", "b", 240, "2026-11-30T10:00:00Z", "bbbbbbbb")};
  const auto files = evidence_report(store, "../evidence");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 5u);
  const std::string& all = files->at("README.md");
  EXPECT_TRUE(has(all,
                  "**Mixed versions** across the machines: mlxcel aaaaaaaa, MLX none; mlxcel "
                  "bbbbbbbb, MLX none."))
      << all;
  EXPECT_TRUE(
      has(all, "| tiny (mixed versions) | mlxcel cpu | 512 + 128, 2 threads | 120.0 | 240.0 |"));
  EXPECT_FALSE(has(files->at("a.md"), "Mixed"));
}

}  // namespace
}  // namespace mlxcel
