// The defaults of fused ops are those that the newest record measured: see fused_defaults.h.
#include <gtest/gtest.h>

#include "backends/cpu/fused_defaults.h"
#include "evidence/scenario_default.h"

namespace mlxcel {
namespace {

json::object scenario(double first, double second, const char* outputs = "equal",
                      const char* time = "2026-11-30T12:00:00Z", bool publishable = true) {
  json::array cases;
  cases.push_back({{"shape", "add_rms_norm, 1 x 2048"}, {"iso_x", 9.0}, {"outputs", "equal"}});
  cases.push_back({{"shape", "rope_append, 1 x 2048"}, {"iso_x", first}, {"outputs", outputs}});
  cases.push_back({{"shape", "rope_append, 4 x 2048"}, {"iso_x", second}, {"outputs", "equal"}});
  return {{"time", time},
          {"run", {{"publishable", publishable}}},
          {"results", {{"scenario", "fused_norm_rope"}, {"cases", std::move(cases)}}}};
}

TEST(FusedDefault, ARatioBelowOneTurnsItOff) {
  EXPECT_DOUBLE_EQ(*scenario_ratio(scenario(0.98, 1.01), "rope_append"), 0.995);
  EXPECT_DOUBLE_EQ(*scenario_ratio(scenario(1.10, 1.00), "rope_append"), 1.05);
  EXPECT_DOUBLE_EQ(*scenario_ratio(scenario(1.10, 1.00), "add_rms_norm"), 9);
  EXPECT_FALSE(scenario_ratio(scenario(2, 2), "gated"));
  EXPECT_FALSE(scenario_ratio(scenario(2, 2, "DIFFER"), "rope_append"));
  RecordStore store;
  EXPECT_EQ(newest_scenario(store, "fused_norm_rope"), nullptr);
  store.records = {{"new.json", scenario(1, 1, "equal", "2026-12-01T12:00:00Z")},
                   {"old.json", scenario(1, 1)},
                   {"noisy.json", scenario(1, 1, "equal", "2026-12-02T12:00:00Z", false)}};
  EXPECT_EQ(newest_scenario(store, "fused_norm_rope")->name, "new.json");
  EXPECT_EQ(newest_scenario(store, "page_gather"), nullptr);
}

TEST(FusedDefault, IsThatOfTheNewestRecord) {
  const auto store = read_records("evidence");
  ASSERT_TRUE(store) << store.error().message;
  const StoredRecord* record = newest_scenario(*store, "fused_norm_rope");
  if (record == nullptr) {  // nothing was shown to be faster
    EXPECT_FALSE(kFusedRopeAppendDefault);
    return;
  }
  const auto ratio = scenario_ratio(record->content, "rope_append");
  ASSERT_TRUE(ratio) << ratio.error().message;
  EXPECT_EQ(kFusedRopeAppendDefault, *ratio >= 1) << record->name << ": " << *ratio;
}

}  // namespace
}  // namespace mlxcel
