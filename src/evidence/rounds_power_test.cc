// What the paired protocol can tell apart on this machine, however busy it is.
#include <gtest/gtest.h>
#include <time.h>

#include "evidence/rounds.h"

namespace mlxcel {
namespace {

// Real work of about a third of a millisecond in processor time, which others disturb less than the
// clock.
double work(double amount) {
  timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  volatile double x = 1;
  for (int i = 0; i < static_cast<int>(100000 * amount); i++) x = x * 1.0000001;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  return static_cast<double>(b.tv_sec - a.tv_sec) +
         1e-9 * static_cast<double>(b.tv_nsec - a.tv_nsec);
}

// 20 trials of each; a trial is 150 rounds of three runs, about 0.2 s of processor time.
TEST(RoundsPower, FindAPlantedSlowdownOfRealWorkAndNothingInNoChange) {
  int found = 0, false_alarms = 0;
  for (int trial = 0; trial < 20; trial++) {
    for (const double slowdown : {1.03, 1.0}) {
      const auto r =
          run_rounds({.arms = {"a", "b"}, .rounds = 150},
                     [&](int arm) -> Result<double> { return work(arm == 1 ? slowdown : 1); });
      ASSERT_TRUE(r);
      const Comparison& c = r->comparisons[0];
      if (slowdown > 1) {
        found += c.resolved && c.ratio > 1;
      } else {
        false_alarms += c.resolved;
      }
    }
  }
  EXPECT_EQ(found, 20);
  EXPECT_EQ(false_alarms, 0);
}

}  // namespace
}  // namespace mlxcel
