// Contexts longer than one attention span: few rows are split over spans and folded, many rows are
// not, and both give equal bits on any number of threads.
#include <gtest/gtest.h>

#include <vector>

#include "run_tokens.h"
#include "tiny_model.h"

namespace mlxcel {
namespace {

std::vector<float> logits(int threads, int chunk) {
  constexpr int kTokens = 1100;  // beyond a span of 1,024
  std::vector<int32_t> ids(kTokens);
  for (int i = 0; i < kTokens; i++) ids[i] = i * 7 % 288;
  CpuOptions options;
  options.threads = threads;
  auto model = make_tiny({}, DType::kQ4_0, 3, options);
  EXPECT_TRUE(model);
  auto all = run_tokens(*model->family, *model->backend, ids, chunk);
  EXPECT_TRUE(all);
  return std::move(*all);
}

TEST(DeepContext, SplitAndWholeAttentionGiveEqualBits) {
  const std::vector<float> whole = logits(2, 256);  // 32 items: not split
  EXPECT_EQ(whole, logits(1, 16));
  EXPECT_EQ(whole, logits(3, 7));
}

}  // namespace
}  // namespace mlxcel
