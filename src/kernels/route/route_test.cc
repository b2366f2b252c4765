// Routing against a sort and doubles.
#include "kernels/route/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace mlxcel {
namespace {

struct Routed {
  std::vector<int32_t> ids;
  std::vector<float> p;
};

Routed route(const std::vector<float>& logits, int used, bool normalize) {
  Routed r{std::vector<int32_t>(static_cast<size_t>(used)),
           std::vector<float>(static_cast<size_t>(used))};
  route_row({.logits = logits.data(),
             .experts = static_cast<int64_t>(logits.size()),
             .used = used,
             .normalize = normalize,
             .ids = r.ids.data(),
             .p = r.p.data()});
  return r;
}

TEST(Route, EqualsASortAndDoubles) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 3);
  for (const size_t experts : {1u, 2u, 7u, 64u, 128u, 512u}) {
    std::vector<float> logits(experts);
    for (float& l : logits) l = std::round(4 * normal(rng)) / 4;  // many ties
    std::vector<int32_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
    for (const int used : {1, 2, 4, 8}) {
      if (static_cast<size_t>(used) > experts) continue;
      for (const bool normalize : {false, true}) {
        const Routed r = route(logits, used, normalize);
        double total = 0;
        for (size_t i = 0; i < (normalize ? static_cast<size_t>(used) : experts); i++)
          total += std::exp(static_cast<double>(logits[order[i]]) - logits[order[0]]);
        for (int i = 0; i < used; i++) {
          ASSERT_EQ(r.ids[i], order[i]);
          const double want =
              std::exp(static_cast<double>(logits[order[i]]) - logits[order[0]]) / total;
          // exp 1.1 ulp on both sides, the sum's roundings and the quotient's.
          ASSERT_NEAR(r.p[i], want, want * (4 + static_cast<double>(experts)) * 0x1p-24);
        }
      }
    }
  }
}

TEST(Route, TiesGoToTheLowestId) {
  const Routed r = route(std::vector<float>(9, 1.5f), 4, true);
  EXPECT_EQ(r.ids, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(r.p, (std::vector<float>(4, 0.25f)));
}

TEST(Route, WhatIsNotANumberShows) {
  std::vector<float> logits = {NAN, -INFINITY, 2, NAN, 1};
  const Routed r = route(logits, 5, true);
  for (const int32_t id : r.ids) EXPECT_TRUE(id >= 0 && id < 5);
  for (const float p : r.p) EXPECT_TRUE(std::isnan(p));
  EXPECT_EQ(r.ids[0], 2);
}

}  // namespace
}  // namespace mlxcel
