#include "backends/tap/tap.h"

#include <gtest/gtest.h>

#include "engine/faulty_testing.h"
#include "run_tokens.h"
#include "tiny_model.h"

namespace mlxcel {
namespace {

std::vector<TapRecord> records(const Family& family, Backend& backend) {
  const std::vector<int32_t> ids = {5, 6, 7, 8, 9, 10};
  Tap tap(backend);
  EXPECT_TRUE(run_tokens(family, tap, ids, 6));
  return tap.take();
}

TEST(Tap, SeesNoDifferenceBetweenEqualRuns) {
  auto model = make_tiny({}, DType::kQ4_0, 1, {.threads = 2});
  ASSERT_TRUE(model);
  const auto a = records(*model->family, *model->backend),
             b = records(*model->family, *model->backend);
  EXPECT_GT(a.size(), 10u);
  EXPECT_EQ(first_difference(a, b), std::nullopt);
}

TEST(Tap, NamesTheFirstOpThatDiffers) {
  auto model = make_tiny({}, DType::kQ4_0, 1, {.threads = 1});
  ASSERT_TRUE(model);
  testing::Faulty sound(*model->backend, testing::RealFault::kNone);
  testing::Faulty broken(*model->backend,
                         testing::RealFault::kReductionByRows);  // six rows are more than four
  const auto difference =
      first_difference(records(*model->family, sound), records(*model->family, broken));
  ASSERT_TRUE(difference);
  EXPECT_EQ(*difference, "op 2 (linears [6, 64]), row 0");  // after embed and rms_norm
}

}  // namespace
}  // namespace mlxcel
