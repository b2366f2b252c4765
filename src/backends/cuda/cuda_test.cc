// What can be tested where there is no GPU: a clear refusal, and recorded steps. All else is
// tools/gpu_check.
#include "backends/cuda/cuda.h"

#include <gtest/gtest.h>

#include <vector>

#include "backends/cuda/commands.h"

namespace mlxcel {
namespace {

TEST(Cuda, WithoutADeviceSaysWhatIsMissing) {
  if (cuda_devices() > 0) GTEST_SKIP() << "this machine has one: run gpu_check";
  const auto backend = make_cuda_backend(cuda_options_from_environment(0));
  ASSERT_FALSE(backend);
  EXPECT_NE(backend.error().message.find("device cuda"), std::string::npos)
      << backend.error().message;
}

struct Add {
  std::vector<int>* to;
  int64_t value;
};
void add(const Add& a, CudaStream) { a.to->push_back(static_cast<int>(a.value)); }
void subtract(const Add& a, CudaStream) { a.to->push_back(static_cast<int>(-a.value)); }

TEST(CommandList, RunsInOrderAndComparesByContent) {
  std::vector<int> heard;
  CommandList a, b;
  a.push(add, Add{&heard, 1}), a.push(subtract, Add{&heard, 2}), a.push(add, Add{&heard, 3});
  a.run(nullptr);
  EXPECT_EQ(heard, (std::vector<int>{1, -2, 3}));
  EXPECT_EQ(a.count(), 3);

  b.push(add, Add{&heard, 1}), b.push(subtract, Add{&heard, 2}), b.push(add, Add{&heard, 3});
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(a.hash(), b.hash());
  for (const auto& [what, value] :
       {std::pair{&add, 2}, {&subtract, 3}}) {  // another launch or value
    b.clear();
    EXPECT_TRUE(b.empty());
    b.push(add, Add{&heard, 1}), b.push(subtract, Add{&heard, 2});
    b.push(what, Add{&heard, value});
    EXPECT_NE(a.bytes(), b.bytes());
    EXPECT_NE(a.hash(), b.hash());
  }
}

}  // namespace
}  // namespace mlxcel
