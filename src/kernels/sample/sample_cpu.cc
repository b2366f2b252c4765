#include "kernels/sample/sample.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sample/sample_cpu.cc"
#include "kernels/targets.h"

#include "kernels/sample/noise-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A row of logits in groups of sixteen; what lies after the last token counts as -infinity.
struct Row {
  const float* l;
  int64_t vocab;

  HWY_INLINE Lanes at(int64_t t) const {
    if (t + 16 <= vocab) return Lanes::load(l + t);
    float s[16];
    for (int i = 0; i < 16; i++) s[i] = t + i < vocab ? l[t + i] : -kInfinity;
    return Lanes::load(s);
  }
};

// Largest logit; +infinity where one is NaN or +infinity.
float largest(const Row& row) {
  const F f;
  VF top[4] = {};
  for (VF& v : top) v = hn::Set(f, -kInfinity);
  auto fine = hn::Eq(hn::Zero(f), hn::Zero(f));
  int64_t t = 0;
  for (; t + 4 * kWidth <= row.vocab; t += 4 * kWidth) {
    for (int i = 0; i < 4; i++) {
      const VF x = hn::LoadU(f, row.l + t + i * kWidth);
      top[i] = hn::Max(top[i], x);
      fine = hn::And(fine, hn::Lt(x, hn::Set(f, kInfinity)));
    }
  }
  float max =
      hn::GetLane(hn::MaxOfLanes(f, hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]))));
  bool all_fine = hn::AllTrue(f, fine);
  for (; t < row.vocab; t++) {
    max = row.l[t] > max ? row.l[t] : max;
    all_fine = all_fine && row.l[t] < kInfinity;
  }
  return all_fine ? max : kInfinity;
}

// The tokens that rank before token u: l[t] > l[u], or equal with a lower id.
struct Before {
  float l;
  int64_t u;

  static Before everything() { return {-kInfinity, -1}; }  // all tokens that are allowed

  // t ranks before u iff l[t] is above this, for sixteen tokens.
  HWY_INLINE Lanes threshold(int64_t t) const {
    if (t >= u) return Lanes::set(l);
    const float below = std::nextafter(l, -kInfinity);
    if (t + 16 <= u) return Lanes::set(below);
    float s[16];
    for (int i = 0; i < 16; i++) s[i] = t + i < u ? below : l;
    return Lanes::load(s);
  }
};

// How many tokens rank before u, and their mass.
void measure(const Row& row, const Before& before, float max, int64_t* count, double* mass) {
  const F f;
  *count = 0, *mass = 0;
  for (int64_t first = 0; first < row.vocab; first += 1024) {
    Lanes sum = Lanes::set(0);
    for (int64_t t = first; t < std::min(first + 1024, row.vocab); t += 16) {
      const Lanes x = row.at(t), threshold = before.threshold(t);
      for (int i = 0; i < kParts; i++) {
        const auto in = hn::Gt(x.v[i], threshold.v[i]);
        if (hn::AllFalse(f, in)) continue;
        *count += static_cast<int64_t>(hn::CountTrue(f, in));
        const VF e = exp_nonpositive(hn::Sub(x.v[i], hn::Set(f, max)));
        sum.v[i] = hn::Add(sum.v[i], hn::IfThenElseZero(in, e));
      }
    }
    *mass += reduce_sum(sum);
  }
}

double mass_of_all(const Row& row, float max) {
  const F f;
  double mass = 0;
  for (int64_t first = 0; first < row.vocab; first += 1024) {
    Lanes sum = Lanes::set(0);
    for (int64_t t = first; t < std::min(first + 1024, row.vocab); t += 16) {
      const Lanes x = row.at(t);
      for (int i = 0; i < kParts; i++) {
        sum.v[i] = hn::Add(sum.v[i], exp_nonpositive(hn::Sub(x.v[i], hn::Set(f, max))));
      }
    }
    mass += reduce_sum(sum);
  }
  return mass;
}

// The most likely tokens, by insertion: most groups hold nothing above the last kept.
void most_likely(const Row& row, float max, double log_mass, TokenLogprob* top, int count) {
  const F f;
  std::fill(top, top + count, TokenLogprob{-1, 0});
  if (count == 0) return;
  float least = -kInfinity;
  for (int64_t t = 0; t < row.vocab; t += 16) {
    const Lanes x = row.at(t);
    bool any = false;
    for (int i = 0; i < kParts; i++) any |= !hn::AllFalse(f, hn::Gt(x.v[i], hn::Set(f, least)));
    for (int64_t u = t; any && u < std::min(t + 16, row.vocab); u++) {
      if (!(row.l[u] > least)) continue;
      int at = count - 1;
      while (at > 0 && (top[at - 1].token < 0 || row.l[u] > row.l[top[at - 1].token])) {
        top[at] = top[at - 1], at--;
      }
      top[at].token = static_cast<int32_t>(u);
      if (top[count - 1].token >= 0) least = row.l[top[count - 1].token];
    }
  }
  for (int i = 0; i < count && top[i].token >= 0; i++) {
    top[i].logprob = static_cast<float>(static_cast<double>(row.l[top[i].token] - max) - log_mass);
  }
}

int64_t first_equal(const Row& row, float value) {
  int64_t t = 0;
  while (true) {
    const Lanes x = row.at(t);
    for (int i = 0; i < kParts; i++) {
      const intptr_t at = hn::FindFirstTrue(F(), hn::Eq(x.v[i], hn::Set(F(), value)));
      if (at >= 0) return t + i * kWidth + at;
    }
    t += 16;
  }
}

void noise64(const SampleArgs& a, int64_t first, float* noise) {
  alignas(64) uint32_t words[64];
  philox(Noise(a), static_cast<uint32_t>(first / 4)).store(words);
  for (int i = 0; i < 64; i += kWidth) {
    hn::StoreU(gumbel(hn::Load(U(), words + i)), F(), noise + i);
  }
}

// A token's perturbed logit.
float perturbed(const SampleArgs& a, float l, float max, int64_t t) {
  float noise[64];
  noise64(a, t / 64 * 64, noise);
  return (l - max) / a.temperature + noise[t % 64];
}

// The token of largest perturbed logit among those that rank before `before` and have l - max >=
// floor, ties to the lowest id. `likely` is one of them: its value tells early what need not be
// computed.
int64_t best_token(const SampleArgs& a, const Row& row, float max, float floor,
                   const Before& before, int64_t likely) {
  // No noise exceeds kMost (its largest value, at word 0, is 22.9).
  constexpr float kMost = 23;
  const F f;
  const VF t0 = hn::Set(f, max), temperature = hn::Set(f, a.temperature);
  float best = std::nextafter(perturbed(a, row.l[likely], max, likely), -kInfinity);
  int64_t token = likely;
  const Noise noise(a);
  for (int64_t t = 0; t < row.vocab; t += 64) {
    VF d[4 * kParts];
    VF top = hn::Set(f, -kInfinity);
    for (int part = 0; part < 4; part++) {
      if (t + 16 * part >= row.vocab) {
        for (int i = 0; i < kParts; i++) d[part * kParts + i] = hn::Set(f, -kInfinity);
        continue;
      }
      const Lanes x = row.at(t + 16 * part), threshold = before.threshold(t + 16 * part);
      for (int i = 0; i < kParts; i++) {
        const VF m = hn::Sub(x.v[i], t0);
        const auto in = hn::And(hn::Gt(x.v[i], threshold.v[i]), hn::Ge(m, hn::Set(f, floor)));
        const VF scaled = hn::IfThenElse(in, hn::Div(m, temperature), hn::Set(f, -kInfinity));
        d[part * kParts + i] = scaled;
        top = hn::Max(top, scaled);
      }
    }
    const VF most = hn::MaxOfLanes(f, top);
    if (!(hn::GetLane(most) + kMost > best)) continue;
    const Words w = philox(noise, static_cast<uint32_t>(t / 4));
    // noise <= -log(u), so to win u must be below e^(d - best); with a margin for rounding.
    const VF limit = exp(hn::Sub(most, hn::Set(f, best - 0.01f)));
    if (static_cast<float>(w.least()) * 0x1p-32f > hn::GetLane(limit)) continue;
    alignas(64) uint32_t words[64];
    alignas(64) float x[64];
    w.store(words);
    for (int i = 0; i < 4 * kParts; i++) {
      hn::Store(hn::Add(d[i], gumbel(hn::Load(U(), words + i * kWidth))), f, x + i * kWidth);
    }
    for (int i = 0; i < 64; i++) {
      if (x[i] > best) best = x[i], token = t + i;
    }
  }
  return token;
}

// The draw: tokens in order of perturbed logit until one is in the set.
int64_t draw(const SampleArgs& a, const Row& row, float max, double total) {
  const int64_t first = first_equal(row, max);
  if (!(a.temperature > 0)) return first;
  const float floor = a.min_p > 0 ? static_cast<float>(exact_log(a.min_p)) : -kInfinity;
  Before before = Before::everything();
  while (true) {
    const int64_t t = best_token(a, row, max, floor, before, first);
    if (t == first || (a.top_k <= 0 && a.top_p >= 1)) return t;
    before = {row.l[t], t};
    int64_t count;
    double mass;
    measure(row, before, max, &count, &mass);
    const bool in_k = a.top_k <= 0 || count < a.top_k;
    if (in_k && (a.top_p >= 1 || mass < static_cast<double>(a.top_p) * total)) return t;
  }
}

Row edited(const SampleArgs& a) {
  if (a.edit_count == 0 && a.allowed == nullptr) return {a.logits, a.vocab};
  std::memcpy(a.scratch, a.logits, a.vocab * sizeof(float));
  for (int64_t i = 0; i < a.edit_count; i++) {
    const LogitEdit& e = a.edits[i];
    float& x = a.scratch[e.token];
    x = (x > 0 ? x / e.repeat : x * e.repeat) + e.add;
  }
  for (int64_t t = 0; a.allowed && t < a.vocab; t += 32) {
    const uint32_t word = a.allowed[t / 32];
    if (word == 0xffffffff) continue;
    const int64_t n = std::min<int64_t>(32, a.vocab - t);
    for (int64_t i = 0; i < n; i++) {
      if (!(word >> i & 1)) a.scratch[t + i] = -kInfinity;
    }
  }
  return {a.scratch, a.vocab};
}

SampleResult sample_row(const SampleArgs& a) {
  std::fill(a.top, a.top + a.top_count, TokenLogprob{-1, 0});
  const Row raw = {a.logits, a.vocab};
  const float raw_max = largest(raw);
  if (raw_max == kInfinity) return {-1, 0};
  const Row row = edited(a);
  const bool same = row.l == raw.l;
  const float max = same ? raw_max : largest(row);
  if (max == kInfinity || max == -kInfinity) return {-1, 0};
  const double raw_mass = mass_of_all(raw, raw_max), log_mass = exact_log(raw_mass);
  const bool needs_total = a.temperature > 0 && a.top_p < 1;
  const double total = same || !needs_total ? raw_mass : mass_of_all(row, max);
  const int64_t t = draw(a, row, max, total);
  most_likely(raw, raw_max, log_mass, a.top, a.top_count);
  return {static_cast<int32_t>(t),
          static_cast<float>(static_cast<double>(raw.l[t] - raw_max) - log_mass)};
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; round++) {
    const uint64_t p = uint64_t{0xD2511F53} * c[0], q = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(q >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(q),
        static_cast<uint32_t>(p >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p)};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
  }
  for (int i = 0; i < 4; i++) out[i] = c[i];
}

void sample_noise(const SampleArgs& args, int64_t first, float* noise) {
  MLXCEL_DISPATCH(noise64)(args, first, noise);
}

SampleResult sample_row(const SampleArgs& args) { return MLXCEL_DISPATCH(sample_row)(args); }

}  // namespace mlxcel
#endif
