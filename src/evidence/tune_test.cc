#include "evidence/tune.h"

#include <gtest/gtest.h>

namespace mlxcel {
namespace {

TEST(Tune, ScatterOfKnownNumbers) {
  EXPECT_NEAR(scatter({1, 2, 3, 4, 100}), 1.4826, 1e-12);  // deviations 2 1 0 1 97
  EXPECT_EQ(scatter({5, 5, 5}), 0);
}

TEST(Tune, ChoosesOnlyBeyondTheScatter) {
  const TuneVariant steady = {"default", {100, 101, 99, 100, 100}};
  EXPECT_EQ(choose_variant({steady}).variant, "default");
  EXPECT_EQ(choose_variant({steady, {"b", {80, 80, 81, 79, 80}}}).variant, "b");
  EXPECT_NEAR(choose_variant({steady, {"b", {80, 80, 81, 79, 80}}}).speedup, 1.25, 1e-12);
  // A tie, and less than 1 %: the default.
  EXPECT_EQ(choose_variant({steady, {"b", {100, 101, 99, 100, 100}}}).variant, "default");
  EXPECT_EQ(choose_variant({{"default", {100, 100, 100}}, {"b", {99.5, 99.5, 99.5}}}).variant,
            "default");
  EXPECT_EQ(choose_variant({{"default", {100, 100, 100}}, {"b", {98.5, 98.5, 98.5}}}).variant, "b");
  // 10 % faster, but either scatters by more: 3 * 1.4826 * 4 > 10.
  const TuneVariant wild = {"default", {100, 104, 96, 108, 92}};
  EXPECT_EQ(choose_variant({wild, {"b", {90, 90, 90, 90, 90}}}).variant, "default");
  EXPECT_EQ(choose_variant({steady, {"b", {90, 94, 86, 98, 82}}}).variant, "default");
  // One outlier is no scatter.
  EXPECT_EQ(choose_variant({steady, {"b", {80, 80, 500, 79, 80}}}).variant, "b");
  // The fastest of those beyond it, the earlier of equals.
  EXPECT_EQ(choose_variant({steady, {"b", {80, 80, 80}}, {"c", {70, 70, 70}}}).variant, "c");
  EXPECT_EQ(choose_variant({steady, {"b", {80, 80, 80}}, {"c", {80, 80, 80}}}).variant, "b");
}

TEST(Tune, OtherBitsAreOut) {
  const auto c = choose_variant({{"default", {100, 100, 100}}, {"b", {50, 50, 50}, false}});
  EXPECT_EQ(c.variant, "default");
  EXPECT_NE(c.reason.find("b gives other bits"), std::string::npos);
}

TEST(Tune, TableHoldsForItsKeyAlone) {
  const TuneKey key = {"matmul/Q4_0", "1 row, 576 -> 1536", "A CPU, 2 threads", "0123abcd"};
  TuneTable t;
  t.add({key, "avx2", 0.001});
  const auto again = TuneTable::parse("tune.json", t.text());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->find(key)->variant, "avx2");
  for (std::string TuneKey::*part :
       {&TuneKey::kernel, &TuneKey::bucket, &TuneKey::device, &TuneKey::version}) {
    TuneKey other = key;
    other.*part += "x";
    EXPECT_FALSE(again->find(other));
  }
  TuneKey newer = key;
  newer.version = "ffffffff";
  t.add({newer, "avx512", 0.0005});
  EXPECT_EQ(t.entries().size(), 1u);
  EXPECT_FALSE(t.find(key));
  EXPECT_FALSE(TuneTable::parse("x", "{"));
  EXPECT_FALSE(TuneTable::parse("x", "{\"schema\": \"other\", \"entries\": []}"));
  EXPECT_FALSE(TuneTable::parse("x", R"({"schema": "mlxcel-tune-1", "entries": [{"kernel": 1}]})"));
  EXPECT_EQ(row_bucket(1), "1");
  EXPECT_EQ(row_bucket(4), "2-4");
  EXPECT_EQ(row_bucket(64), "17-64");
  EXPECT_EQ(row_bucket(65), "65+");
}

TEST(Tune, DecodeGoesByTime) {
  TuneTable t;
  t.add({{"matmul/a", "1 rows, 1 -> 2", "cpu", "v"}, "avx2", 0.003});
  t.add({{"matmul/a", "1 rows, 3 -> 4", "cpu", "v"}, "avx512", 0.002});
  t.add({{"matmul/b", "1 rows, 3 -> 4", "cpu", "v"}, "avx512", 0.002});
  t.add({{"matmul/b", "17-64 rows, 3 -> 4", "cpu", "v"}, "avx2", 0.1});
  EXPECT_EQ(decode_variant(t, "cpu", "v"), "avx512");
  EXPECT_EQ(decode_variant(t, "other", "v"), "");
  EXPECT_EQ(decode_variant(t, "cpu", "w"), "");
}

}  // namespace
}  // namespace mlxcel
