#include "sampling/penalties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace mlxcel {
namespace {

using Tokens = std::vector<int32_t>;

// The published definition, written as slowly as it reads. Breakers of several tokens: a position
// is broken if a breaker that lies wholly in the window covers it, counted only for the last one
// before the end; a follower is skipped if a breaker ends there.
std::map<int32_t, double> dry_oracle(const SamplingParams& p, Tokens h) {
  std::map<int32_t, double> result;
  if (p.dry_penalty_last_n >= 0 && h.size() > static_cast<size_t>(p.dry_penalty_last_n))
    h.erase(h.begin(), h.end() - p.dry_penalty_last_n);
  const int n = static_cast<int>(h.size());
  std::vector<bool> breaker_end(n, false);
  for (int end = 0; end < n; end++) {
    for (const auto& b : p.dry_sequence_breakers) {
      const int first = end + 1 - static_cast<int>(b.size());
      if (first >= 0 && Tokens(h.begin() + first, h.begin() + end + 1) == b)
        breaker_end[end] = true;
    }
  }
  std::map<int32_t, int> longest;
  for (int i = 0; i + 1 < n; i++) {
    if (breaker_end[i + 1]) continue;
    int m = 0;
    while (m < 50 && i - m >= 0 && h[i - m] == h[n - 1 - m] && !breaker_end[n - 1 - m]) m++;
    if (m > 0) longest[h[i + 1]] = std::max(longest[h[i + 1]], m);
  }
  for (const auto& [token, m] : longest) {
    if (m >= p.dry_allowed_length)
      result[token] = p.dry_multiplier * std::pow(p.dry_base, m - p.dry_allowed_length);
  }
  return result;
}

std::map<int32_t, LogitEdit> edits_of(PenaltyState& state) {
  std::vector<LogitEdit> list;
  state.edits(list);
  std::map<int32_t, LogitEdit> m;
  int32_t last = -1;
  for (const LogitEdit& e : list) {
    EXPECT_GT(e.token, last);  // ascending, each once
    last = e.token;
    m[e.token] = e;
  }
  return m;
}

TEST(Dry, EqualsTheDefinitionOnRandomText) {
  std::mt19937 random(1);
  int penalized = 0;
  for (int round = 0; round < 3000; round++) {
    SamplingParams p;
    p.dry_multiplier = 0.8f;
    p.dry_base = round % 3 ? 1.75f : 1.0f;
    p.dry_allowed_length = 1 + static_cast<int>(random() % 4);
    p.dry_penalty_last_n = round % 2 ? kAllTokens : static_cast<int>(random() % 40);
    const int vocab = 2 + static_cast<int>(random() % 4);
    for (int b = static_cast<int>(random() % 3); b > 0; b--) {
      Tokens breaker(1 + random() % 3);
      for (int32_t& t : breaker) t = static_cast<int32_t>(random() % vocab);
      p.dry_sequence_breakers.push_back(breaker);
    }
    Tokens history(random() % 150);
    for (int32_t& t : history) t = static_cast<int32_t>(random() % vocab);
    if (round % 5 == 0)  // long repeats, to reach the bound of 50
      for (size_t i = 7; i < history.size(); i++) history[i] = history[i - 7];
    Dry dry;
    std::vector<DryPenalty> found;
    dry.penalties(p, history, found);
    const auto expected = dry_oracle(p, history);
    ASSERT_EQ(found.size(), expected.size()) << "round " << round;
    for (const DryPenalty& d : found) {
      const auto at = expected.find(d.token);
      ASSERT_NE(at, expected.end());
      EXPECT_NEAR(d.penalty, at->second, at->second * 1e-6);
      penalized++;
    }
  }
  EXPECT_GT(penalized, 1000);
}

TEST(Dry, TheAuthorsExample) {
  // "... a b c d ... a b c": the match has length 3, so d gets multiplier * base^(3 - 2).
  SamplingParams p;
  p.dry_multiplier = 0.8f;
  const Tokens history = {1, 2, 3, 4, 9, 1, 2, 3};
  Dry dry;
  std::vector<DryPenalty> found;
  dry.penalties(p, history, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].token, 4);
  EXPECT_FLOAT_EQ(found[0].penalty, 1.4f);
  p.dry_sequence_breakers = {{2}};  // now only the 3 matches: too short
  dry.penalties(p, history, found);
  EXPECT_TRUE(found.empty());
}

TEST(Penalties, EqualTheFormulasAndTakeBack) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; round++) {
    SamplingParams p;
    p.repetition_penalty = round % 4 ? 1.5f : 1.0f;
    p.presence_penalty = round % 3 ? 0.5f : 0.0f;
    p.frequency_penalty = round % 5 ? 0.25f : 0.0f;
    p.repeat_last_n = round % 2 ? kAllTokens : static_cast<int>(random() % 8);
    p.dry_multiplier = round % 7 ? 0.0f : 1.0f;
    p.logit_bias = {{0, -100.0f}, {4, 1.5f}};
    Tokens prompt(random() % 20), drawn;
    for (int32_t& t : prompt) t = static_cast<int32_t>(random() % 6);
    PenaltyState state(p, prompt);
    for (int step = 0; step < 40; step++) {
      if (!drawn.empty() && random() % 3 == 0) {
        const int32_t back = static_cast<int32_t>(1 + random() % drawn.size());
        state.pop(back);
        drawn.resize(drawn.size() - back);
      } else {
        drawn.push_back(static_cast<int32_t>(random() % 6));
        state.push(drawn.back());
      }
      Tokens all = prompt;
      all.insert(all.end(), drawn.begin(), drawn.end());
      const size_t window =
          p.repeat_last_n < 0 ? all.size() : std::min<size_t>(all.size(), p.repeat_last_n);
      const auto dry = p.dry_multiplier > 0 ? dry_oracle(p, all) : std::map<int32_t, double>{};
      auto found = edits_of(state);
      for (int32_t t = 0; t < 6; t++) {
        const auto times = std::count(drawn.begin(), drawn.end(), t);
        const bool recent = std::count(all.end() - window, all.end(), t) > 0;
        double add = -(times > 0 ? p.presence_penalty : 0.0) - times * p.frequency_penalty;
        if (dry.contains(t)) add -= dry.at(t);
        if (p.logit_bias.contains(t)) add += p.logit_bias.at(t);
        const LogitEdit e = found.contains(t) ? found[t] : LogitEdit{t, 1, 0};
        EXPECT_EQ(e.repeat, recent ? p.repetition_penalty : 1.0f);
        EXPECT_NEAR(e.add, add, 1e-4);
      }
    }
  }
}

TEST(Penalties, NothingAskedNothingDone) {
  const SamplingParams p;
  PenaltyState state(p, Tokens{1, 1, 1});
  state.push(1);
  EXPECT_TRUE(edits_of(state).empty());
  state.pop(1);
}

}  // namespace
}  // namespace mlxcel
