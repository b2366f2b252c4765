#include "kernels/sample/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "kernels/for_each_isa.h"
#include "kernels/sample/sample_reference.h"

namespace mlxcel {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A request with the memory it points at.
struct Request {
  std::vector<float> logits, scratch;
  std::vector<LogitEdit> edits;
  std::vector<uint32_t> allowed;
  std::vector<TokenLogprob> top;
  SampleArgs args = {};

  explicit Request(std::vector<float> l, float temperature = 0) : logits(std::move(l)) {
    args.temperature = temperature, args.top_p = 1, args.seed = 42;
  }
  void forbid(int token) {
    if (allowed.empty()) allowed.assign((logits.size() + 31) / 32, 0xffffffff);
    allowed[token / 32] &= ~(1u << token % 32);
  }
  SampleArgs ready(int top_count = 0) {
    scratch.assign(logits.size(), kNan), top.assign(top_count, {7, 7});
    args.logits = logits.data(), args.vocab = static_cast<int64_t>(logits.size());
    args.scratch = scratch.data();
    args.edits = edits.data(), args.edit_count = static_cast<int64_t>(edits.size());
    args.allowed = allowed.empty() ? nullptr : allowed.data();
    args.top = top.data(), args.top_count = top_count;
    return args;
  }
  SampleResult draw(int top_count = 0) { return sample_row(ready(top_count)); }
};

std::vector<float> random_logits(int64_t vocab, float spread, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> l(vocab);
  for (float& x : l) x = normal(rng);
  return l;
}

// The vectors that come with Random123.
TEST(Sample, PhiloxKnownAnswers) {
  const uint32_t cases[3][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (const auto& c : cases) {
    uint32_t words[4];
    philox4x32(c, c + 4, words);
    for (int i = 0; i < 4; i++) EXPECT_EQ(words[i], c[6 + i]);
  }
}

TEST(Sample, NoiseIsAccurateInBothTails) {
  double worst = 0;
  std::vector<uint32_t> words = {0, 1, 2, 100, 0xffffffff, 0xfffffffe, 0x4afaffff, 0x4afb0000};
  std::mt19937 rng(1);
  for (int i = 0; i < 200000; i++) words.push_back(rng() >> rng() % 28);
  for (int i = 0; i < 1000; i++) words.push_back(~(rng() >> rng() % 28));
  for (const uint32_t r : words) {
    const double u = (r + 0.5) / 4294967296.0, truth = -std::log(-std::log1p(-u));
    // E and its log each err by an ulp: of 1 relative to E, and of the result.
    worst = std::max(worst, std::fabs(gumbel_tree(r) - truth) / (1 + std::fabs(truth)));
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_LT(gumbel_tree(0), 22.9);  // best_token() relies on less than 23
  EXPECT_GT(gumbel_tree(0), 22.8);
}

// ---- against numpy, in doubles, with a sort (tools/golden/make_sample.py)

json::array golden_cases() {
  std::ifstream file("tests/golden/sample.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return json::parse(text).as_object().at("cases").as_array();
}

std::vector<double> doubles(const json::value& v) {
  std::vector<double> x;
  for (const json::value& e : v.as_array()) x.push_back(e.to_number<double>());
  return x;
}

Request golden_request(const json::object& c) {
  std::vector<float> logits;
  for (const double v : doubles(c.at("logits"))) logits.push_back(static_cast<float>(v));
  Request r(logits, c.at("temperature").to_number<float>());
  for (const json::value& e : c.at("edits").as_array()) {
    r.edits.push_back(
        {e.at(0).to_number<int32_t>(), e.at(1).to_number<float>(), e.at(2).to_number<float>()});
  }
  for (const json::value& t : c.at("forbidden").as_array()) r.forbid(t.to_number<int>());
  r.args.top_k = c.at("top_k").to_number<int32_t>();
  r.args.top_p = c.at("top_p").to_number<float>();
  r.args.min_p = c.at("min_p").to_number<float>();
  r.args.seed = c.at("seed").to_number<uint64_t>();
  r.args.choice = c.at("choice").to_number<uint32_t>();
  return r;
}

TEST(Sample, DrawsTheTokensOfTheDefinition) {
  for (const json::value& v : golden_cases()) {
    const json::object& c = v.as_object();
    Request r = golden_request(c);
    const std::vector<double> logprobs = doubles(c.at("logprobs"));
    const json::array &positions = c.at("positions").as_array(),
                      &tokens = c.at("tokens").as_array();
    ASSERT_GT(tokens.size(), 50u);
    for_each_isa([&](const char* isa) {
      for (size_t i = 0; i < tokens.size(); i++) {
        r.args.position = positions[i].to_number<uint64_t>();
        const SampleResult s = r.draw();
        ASSERT_EQ(s.token, tokens[i].to_number<int32_t>())
            << isa << " " << c.at("name") << " at " << r.args.position;
        EXPECT_NEAR(s.logprob, logprobs[s.token], 1e-5);
      }
    });
  }
}

// Chi-square of 20,000 positions. Its mean is the degrees of freedom n; beyond n + 5 sqrt(2 n) + 8
// lies less than one run in a million.
TEST(Sample, DrawsTheDistribution) {
  for (const json::value& v : golden_cases()) {
    const json::object& c = v.as_object();
    Request r = golden_request(c);
    const std::vector<double> p = doubles(c.at("probabilities"));
    constexpr int kDraws = 20000;
    std::vector<int> seen(p.size());
    r.ready();
    for (int i = 0; i < kDraws; i++) {
      r.args.position = 1000 + i;
      seen[sample_row(r.args).token]++;
    }
    double chi = 0, rest = 0, rest_seen = 0;
    int cells = 0;
    for (size_t t = 0; t < p.size(); t++) {
      const double expected = p[t] * kDraws;
      EXPECT_TRUE(p[t] > 0 || seen[t] == 0) << c.at("name") << " token " << t;
      if (expected < 8) {
        rest += expected, rest_seen += seen[t];
      } else {
        chi += (seen[t] - expected) * (seen[t] - expected) / expected, cells++;
      }
    }
    if (rest > 1) chi += (rest_seen - rest) * (rest_seen - rest) / rest, cells++;
    const double n = std::max(1, cells - 1);
    EXPECT_LT(chi, n + 5 * std::sqrt(2 * n) + 8) << c.at("name");
  }
}

// ---- against the tree, bit for bit

TEST(Sample, NoiseEqualsItsTreeOnEveryIsa) {
  SampleArgs a = {};
  a.seed = 0x123456789abcdef, a.choice = 2;
  for_each_isa([&](const char* isa) {
    for (a.position = (1ull << 32) - 20; a.position < (1ull << 32) + 20; a.position++) {
      for (const int64_t first : {0, 64, 128000}) {
        float noise[64];
        sample_noise(a, first, noise);
        for (int i = 0; i < 64; i++) {
          const uint32_t key[2] = {0x89abcdef, 0x1234567}, t = static_cast<uint32_t>(first) + i;
          const uint32_t counter[4] = {t / 4, 2, static_cast<uint32_t>(a.position),
                                       static_cast<uint32_t>(a.position >> 32)};
          uint32_t words[4];
          philox4x32(counter, key, words);
          ASSERT_EQ(noise[i], gumbel_tree(words[t % 4])) << isa << " token " << t;
        }
      }
    }
  });
}

TEST(Sample, EqualsItsTreeOnEveryIsa) {
  std::mt19937 rng(5);
  const auto pick = [&rng](auto... x) {
    const std::array all = {x...};
    return all[rng() % all.size()];
  };
  for (int i = 0; i < 300; i++) {
    const int64_t vocab = pick(1, 5, 16, 31, 32, 33, 100, 1000, 1024, 1500, 2300);
    Request r(random_logits(vocab, pick(0.5f, 2.0f, 8.0f), rng()));
    if (rng() % 3 == 0) {
      for (float& x : r.logits) x = std::round(x);  // many ties
    }
    r.args.temperature = pick(0.0f, 0.5f, 1.0f, 2.0f, 30.0f);
    r.args.top_k = pick(0, 0, 1, 3, 40);
    r.args.top_p = pick(1.0f, 1.0f, 0.95f, 0.5f, 0.0f);
    r.args.min_p = pick(0.0f, 0.0f, 0.05f, 1.0f);
    r.args.seed = rng(), r.args.position = rng(), r.args.choice = rng() % 3;
    if (rng() % 3 == 0) {
      for (int t = 0; t < vocab; t++) {
        if (rng() % 4) r.forbid(t);
      }
    }
    if (rng() % 3 == 0) {
      for (int t = 0; t < vocab; t += 1 + static_cast<int>(rng() % 50)) {
        r.edits.push_back({t, pick(1.0f, 1.3f), pick(0.0f, -0.7f, 3.0f)});
      }
    }
    if (rng() % 8 == 0) r.logits[rng() % vocab] = -kInf;
    const int top_count = pick(0, 1, 5, 20);
    const SampleResult want = sample_tree(r.ready(top_count));
    const std::vector<TokenLogprob> want_top = r.top;
    for_each_isa([&](const char* isa) {
      const SampleResult got = r.draw(top_count);
      ASSERT_EQ(got.token, want.token) << isa << " case " << i;
      EXPECT_EQ(got.logprob, want.logprob) << isa << " case " << i;
      for (int k = 0; k < top_count; k++) {
        EXPECT_EQ(r.top[k].token, want_top[k].token) << isa << " case " << i;
        EXPECT_EQ(r.top[k].logprob, want_top[k].logprob) << isa << " case " << i;
      }
    });
  }
}

// ---- known failures of other programs

// L01: temperature 0 or tiny, and rows without a token.
TEST(Sample, TinyTemperaturesAreGreedy) {
  for (const float temperature : {0.0f, 1e-4f, 1e-8f, 1e-38f, 1e-45f, -1.0f}) {
    Request r({5, 4, 3, 2, 1}, temperature);
    for (r.args.position = 0; r.args.position < 50; r.args.position++) {
      EXPECT_EQ(r.draw().token, 0) << temperature;
    }
  }
  Request large({60000, 59000}, 1e-4f);
  EXPECT_EQ(large.draw().token, 0);
  Request equal({1, 7, 7, 3});
  EXPECT_EQ(equal.draw().token, 1) << "ties go to the lowest id";
}

TEST(Sample, RowsWithoutATokenSaySo) {
  for (const float temperature : {0.0f, 1.0f}) {
    Request none(std::vector<float>(40, -kInf), temperature);
    EXPECT_EQ(none.draw().token, -1);
    for (const float bad : {kNan, kInf}) {
      for (const int at : {0, 17, 39}) {
        Request r(random_logits(40, 1, 3), temperature);
        r.logits[at] = bad;
        EXPECT_EQ(r.draw(3).token, -1);
        EXPECT_EQ(r.top[0].token, -1);
      }
    }
    Request masked(random_logits(40, 1, 3), temperature);
    for (int t = 0; t < 40; t++) masked.forbid(t);
    EXPECT_EQ(masked.draw().token, -1);
    masked.allowed[1] |= 1;
    EXPECT_EQ(masked.draw().token, 32) << "the only one allowed";
  }
}

// L03: the seed decides, together with choice and position and nothing else.
TEST(Sample, SeedsRepeatAndDiffer) {
  Request r(random_logits(500, 1, 9), 1);
  const auto text = [&r](uint64_t seed, uint32_t choice) {
    std::vector<int32_t> tokens;
    r.args.seed = seed, r.args.choice = choice;
    for (r.args.position = 0; r.args.position < 20; r.args.position++) {
      tokens.push_back(r.draw().token);
    }
    return tokens;
  };
  const std::vector<int32_t> first = text(42, 0);
  EXPECT_NE(text(43, 0), first);
  EXPECT_NE(text(42, 1), first);
  EXPECT_NE(text(42ull << 32, 0), first);
  EXPECT_EQ(text(42, 0), first);
  EXPECT_GT(std::set<int32_t>(first.begin(), first.end()).size(), 10u) << "positions differ";
}

// L05: logprobs are the model's own, whatever the sampling parameters.
TEST(Sample, LogprobsAreTheModelsOwn) {
  for (const float temperature : {0.0f, 1.0f, 2.0f}) {
    Request r({5, 4, 3, 2, 1}, temperature);
    r.args.top_k = 1;
    r.edits = {{0, 1.5f, 0}};
    r.forbid(1);
    r.edits[0].add = 3;
    const SampleResult s = r.draw(20);
    EXPECT_EQ(s.token, 0);
    EXPECT_NEAR(s.logprob, -0.451914, 1e-6);
    const double want[] = {-0.451914, -1.451914, -2.451914, -3.451914, -4.451914};
    for (int i = 0; i < 5; i++) {
      EXPECT_EQ(r.top[i].token, i);
      EXPECT_NEAR(r.top[i].logprob, want[i], 1e-6);
    }
    EXPECT_EQ(r.top[5].token, -1);
  }
  Request certain({1000, 0, 0});
  EXPECT_EQ(certain.draw().logprob, 0) << "never above 0";
}

// L07: a bias acts at temperature 0 too.
TEST(Sample, BiasesAct) {
  Request r({5, 4, 3, 2, 1});
  r.edits = {{0, 1, -100}};
  EXPECT_EQ(r.draw().token, 1);
  EXPECT_NEAR(r.draw().logprob, -1.451914, 1e-6);
  r.edits = {{3, 1, 100}};
  EXPECT_EQ(r.draw().token, 3);
  r.edits = {{0, 2, 0}};  // 5 / 2
  EXPECT_EQ(r.draw().token, 1);
  Request negative({-1, -2});
  negative.edits = {{0, 3, 0}};  // -1 * 3
  EXPECT_EQ(negative.draw().token, 1);
}

}  // namespace
}  // namespace mlxcel
