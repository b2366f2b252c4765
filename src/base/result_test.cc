#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace mlxcel {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error{Code::kInvalid, "half: expected an even number"};
  return x / 2;
}

Result<int> quarter(int x) {
  TRY(const int once, half(x));
  TRY(const int twice, half(once));
  return twice;
}

Status even(int x) {
  TRY_OK(half(x));
  return Ok{};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().code, Code::kInvalid);
  EXPECT_TRUE(even(2));
  EXPECT_EQ(even(3).error().message, "half: expected an even number");
}

TEST(Result, MovesItsValue) {
  Result<std::unique_ptr<int>> r(std::make_unique<int>(7));
  std::unique_ptr<int> p = std::move(*r);
  EXPECT_EQ(*p, 7);
}

TEST(ResultDeath, AskingForTheWrongSideIsABug) { EXPECT_DEATH(*half(3), "CHECK failed"); }

}  // namespace
}  // namespace mlxcel
