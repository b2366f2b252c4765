#include "evidence/peer.h"

#include <gtest/gtest.h>

#include "evidence/csv.h"
#include "evidence/decode.h"
#include "evidence/table.h"

namespace mlxcel {
namespace {

const std::string kOutput =
    R"({"peer":"mlx-lm","baseline_version":"mlx-lm-0.32.2","device":"cpu","prompt":512,)"
    R"("generate":128,"reps":3,"prefill":{"tok_s":900,"rounds":[900,905,899]},)"
    R"("decode":{"tok_s":80,"rounds":[80,81,79]}})";

TEST(Peer, BecomesARowBesideOurs) {
  RecordParts p;
  p.kind = "decode", p.command = {"mlxcel"}, p.machine.label = "h", p.machine.cpu = "x";
  p.program.version = "0.1.0", p.program.commit = "0123abcd";
  p.model = {"m", "affine 4 bits", {{"config.json", 1, std::string(64, '0')}}};
  const auto read = read_peer_output(*find_peer("mlx-lm"), {.reps = 3}, kOutput, p);
  ASSERT_TRUE(read) << read.error().message;
  const json::object record = make_record(p);
  EXPECT_TRUE(check_record("", seal(record)).empty());
  const std::string stem = csv_table_stem(record);
  EXPECT_EQ(stem.substr(0, 7), "pylm_h_");
  const auto t = parse_table(stem + ".csv", csv_header() + csv_record_row(record));
  ASSERT_TRUE(t);
  EXPECT_EQ(t->rows[0].number("decode_tok_s"), 80);
  EXPECT_EQ(t->rows[0].at("baseline_version"), "mlx-lm-0.32.2");
  EXPECT_EQ(t->rows[0].at("prompt_tokens"), "512");
  EXPECT_EQ(t->rows[0].status(), "ok");
}

TEST(Peer, Refusals) {
  const auto why = [](std::string output, const PeerWork& work) {
    RecordParts p;
    const auto r = read_peer_output(*find_peer("mlx-lm"), work, output, p);
    return r ? "" : r.error().message;
  };
  EXPECT_NE(why("Traceback", {.reps = 3}).find("JSON"), std::string::npos);
  EXPECT_NE(why(kOutput, {.prompt_tokens = 511, .reps = 3}).find("prompt"), std::string::npos);
  EXPECT_NE(why(kOutput, {.reps = 5}).find("reps"), std::string::npos);
  std::string changed = kOutput;
  changed.replace(changed.find("baseline_version"), 16, "b");
  EXPECT_NE(why(changed, {.reps = 3}).find("baseline_version"), std::string::npos);
  changed = kOutput;
  changed.replace(changed.find("81,"), 3, "");
  EXPECT_NE(why(changed, {.reps = 3}).find("decode.rounds"), std::string::npos);
  EXPECT_FALSE(find_peer("vllm"));
}

TEST(Peer, HasOurPrompt) {
  const auto ids = prompt_ids(1000, 1, 600);
  EXPECT_EQ(ids.size(), 600u);
  EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + 512, prompt_ids(1000, 1, 512).begin()));
  EXPECT_NE(ids, prompt_ids(1000, 2, 600));
  for (const int32_t id : ids) EXPECT_TRUE(id >= 0 && id < 1000);
}

}  // namespace
}  // namespace mlxcel
