#include "evidence/width_cost.h"

#include <gtest/gtest.h>

namespace mlxcel {
namespace {

std::vector<WidthPoint> points(const std::vector<std::pair<int, double>>& costs) {
  std::vector<WidthPoint> all;
  for (const auto& [width, cost] : costs) all.push_back({width, 0.02 * cost, 0.01});
  return all;
}

TEST(WidthCost, KnownNumbers) {
  // Exactly 0.46 + 0.771 K, in steps of 20 ms.
  const auto exact = fit_cost(points({{1, 1}, {2, 2.002}, {3, 2.773}, {4, 3.544}, {8, 6.628}}));
  ASSERT_TRUE(exact);
  EXPECT_NEAR(exact->a, 0.46, 1e-12);
  EXPECT_NEAR(exact->b, 0.771, 1e-12);
  EXPECT_NEAR(exact->largest_residual, 0, 1e-12);
  EXPECT_NEAR(exact->plain_step_s, 0.02, 1e-15);
  EXPECT_NEAR(exact->break_even(5), 4.315, 1e-12);
  // Three points of which the middle is off: the line through (2, 1), (4, 4), (6, 4).
  const auto off = fit_cost(points({{1, 1}, {2, 1}, {4, 4}, {6, 4}}));
  ASSERT_TRUE(off);
  EXPECT_NEAR(off->b, 0.75, 1e-12);
  EXPECT_NEAR(off->a, 0, 1e-12);
  EXPECT_NEAR(off->widths[1].residual, 1, 1e-12);
  EXPECT_NEAR(off->largest_residual, 1, 1e-12);
  const std::string text = cost_text(*off, points({{1, 1}, {2, 1}, {4, 4}, {6, 4}}));
  EXPECT_NE(text.find("cost = 0.000 + 0.7500 K"), std::string::npos) << text;
  EXPECT_NE(text.find("a round of width 4 must emit more than 4.00 tokens"), std::string::npos);
}

TEST(WidthCost, Refusals) {
  const auto why = [](const std::vector<std::pair<int, double>>& costs) {
    const auto m = fit_cost(points(costs));
    return m ? "" : m.error().message;
  };
  EXPECT_NE(why({{2, 1}, {3, 1}, {8, 1}}).find("width 1"), std::string::npos);
  EXPECT_NE(why({{1, 1}, {2, 1}, {8, 1}}).find("three widths"), std::string::npos);
  // The page's own case: widths 3 to 6.
  EXPECT_NE(why({{1, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}).find("lever"), std::string::npos);
  EXPECT_EQ(why({{1, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}}), "");
  EXPECT_NE(why({{1, 1}, {2, 0}}).find("above 0"), std::string::npos);
}

}  // namespace
}  // namespace mlxcel
