#include "sampling/params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace mlxcel {
namespace {

constexpr int64_t kVocab = 100;

TEST(SamplingParams, DefaultsAreFine) { EXPECT_TRUE(check({}, kVocab)); }

struct Bad {
  std::function<void(SamplingParams&)> spoil;
  const char* message;
};

TEST(SamplingParams, EachBadValueIsNamed) {
  const Bad bad[] = {
      {[](auto& p) { p.temperature = -1; },
       "temperature = -1: expected a number from 0 to 1000; use 0 for the most likely token"},
      {[](auto& p) { p.temperature = NAN; },
       "temperature = nan: expected a number from 0 to 1000; use 0 for the most likely token"},
      {[](auto& p) { p.top_k = -1; }, "top_k = -1: expected at least 0; use 0 to keep all tokens"},
      {[](auto& p) { p.top_p = 1.5f; },
       "top_p = 1.5: expected a number from 0 to 1; use 1 to keep all tokens"},
      {[](auto& p) { p.min_p = -0.5f; },
       "min_p = -0.5: expected a number from 0 to 1; use 0 to keep all tokens"},
      {[](auto& p) { p.repetition_penalty = 0; },
       "repetition_penalty = 0: expected above 0 and at most 100; use 1 for none"},
      {[](auto& p) { p.repeat_last_n = -2; },
       "repeat_last_n = -2: expected at least -1; use -1 for the whole history"},
      {[](auto& p) { p.presence_penalty = 3; },
       "presence_penalty = 3: expected a number from -2 to 2; use 0 for none"},
      {[](auto& p) { p.frequency_penalty = -INFINITY; },
       "frequency_penalty = -inf: expected a number from -2 to 2; use 0 for none"},
      {[](auto& p) { p.dry_multiplier = -1; },
       "dry_multiplier = -1: expected a number from 0 to 1000; use 0 for none"},
      {[](auto& p) { p.dry_base = 0.5f; },
       "dry_base = 0.5: expected a number from 1 to 4; use 1.75"},
      {[](auto& p) { p.dry_allowed_length = 0; },
       "dry_allowed_length = 0: expected at least 1; use 2"},
      {[](auto& p) { p.dry_penalty_last_n = -2; },
       "dry_penalty_last_n = -2: expected at least -1; use -1 for the whole history"},
      {[](auto& p) { p.dry_sequence_breakers = {{}}; },
       "dry_sequence_breakers = []: a breaker has no tokens; leave it out"},
      {[](auto& p) {
         p.dry_sequence_breakers = {{3, 100}};
       },
       "dry_sequence_breakers = 100: not a token of this model's vocabulary of 100; use an id "
       "from 0 to 99"},
      {[](auto& p) {
         p.logit_bias = {{999, 1.0f}};
       },
       "logit_bias = 999: not a token of this model's vocabulary of 100; use an id from 0 to 99"},
      {[](auto& p) {
         p.logit_bias = {{7, 101.0f}};
       },
       "logit_bias[7] = 101: expected a number from -100 to 100; use -100 to forbid a token and "
       "100 to force it"},
      {[](auto& p) { p.stop_tokens = {-1}; },
       "stop_tokens = -1: not a token of this model's vocabulary of 100; use an id from 0 to 99"},
      {[](auto& p) { p.end_tokens = {100}; },
       "end_tokens = 100: not a token of this model's vocabulary of 100; use an id from 0 to 99"},
      {[](auto& p) { p.max_tokens = -2; },
       "max_tokens = -2: expected at least -1; use -1 to run until the context is full"},
      {[](auto& p) { p.logprobs = 21; },
       "logprobs = 21: expected from 0 to 20; use 20 for the most"},
  };
  for (const Bad& b : bad) {
    SamplingParams p;
    b.spoil(p);
    const Status s = check(p, kVocab);
    ASSERT_FALSE(s) << b.message;
    EXPECT_EQ(s.error().message, b.message);
    EXPECT_EQ(s.error().code, Code::kInvalid);
  }
}

TEST(SamplingParams, IgnoreEosSwitchesOffTheModelsEndsOnly) {
  SamplingParams p;
  p.end_tokens = {1, 106, 7};
  p.stop_tokens = {50};
  for (const int32_t t : {1, 106, 7, 50}) EXPECT_TRUE(ends(p, t));
  EXPECT_FALSE(ends(p, 2));
  p.ignore_eos = true;
  for (const int32_t t : {1, 106, 7}) EXPECT_FALSE(ends(p, t));
  EXPECT_TRUE(ends(p, 50));
}

TEST(SamplingParams, SeedIsKeptOrRandom) {
  SamplingParams p;
  EXPECT_NE(choose_seed(p), choose_seed(p));
  p.seed = 42;
  EXPECT_EQ(choose_seed(p), 42u);
}

}  // namespace
}  // namespace mlxcel
