#include "kernels/rope/rope.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

struct Case {
  int64_t heads, head_dim, dims;
  std::vector<float> x, y, cosine, sine;

  Case(int64_t h, int64_t d, int64_t r) : heads(h), head_dim(d), dims(r), x(h * d), y(h * d + 1) {
    std::mt19937 rng(static_cast<uint32_t>(h * 1000 + d + r));
    std::normal_distribution<float> normal;
    for (float& v : x) v = normal(rng);
    for (int64_t i = 0; i < r / 2; i++) {
      const double angle = 37 * std::pow(10000.0, -2.0 * static_cast<double>(i) / r);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
    y.back() = 42;
  }
  RopeArgs args(float* to) const {
    return {x.data(), to, cosine.data(), sine.data(), heads, head_dim, dims};
  }
};

TEST(Rope, EqualsItsTreeOnEveryIsaAndIsCloseToTheTruth) {
  for_each_isa([](const char* isa) {
    for (const auto& [heads, head_dim, dims] : {std::tuple{9, 64, 64},
                                                {1, 128, 128},
                                                {3, 80, 80},
                                                {2, 96, 32},
                                                {4, 256, 64},
                                                {1, 6, 4},
                                                {2, 64, 0}}) {
      Case c(heads, head_dim, dims);
      const std::string what = std::string(isa) + " " + std::to_string(head_dim);
      std::vector<float> want(c.x.size());
      rope_tree(c.args(want.data()));
      rope_row(c.args(c.y.data()));
      EXPECT_EQ(std::memcmp(want.data(), c.y.data(), want.size() * 4), 0) << what;
      EXPECT_EQ(c.y.back(), 42) << "wrote past the end";
      std::vector<float> in_place = c.x;
      RopeArgs args = c.args(in_place.data());
      args.x = in_place.data();
      rope_row(args);
      EXPECT_EQ(std::memcmp(want.data(), in_place.data(), want.size() * 4), 0) << what;
      // Two roundings, each of at most half an ulp of |u| + |v|.
      std::vector<double> truth(c.x.size());
      rope_truth(c.args(nullptr), truth.data());
      for (size_t i = 0; i < truth.size(); i++) {
        const size_t in_head = i % head_dim, half = dims / 2, head = i - in_head;
        if (in_head >= static_cast<size_t>(dims)) continue;
        const size_t j = in_head % half;
        const double size = std::fabs(c.x[head + j]) + std::fabs(c.x[head + j + half]);
        EXPECT_NEAR(want[i], truth[i], size * 0x1p-23) << what;
      }
    }
  });
}

}  // namespace
}  // namespace mlxcel
