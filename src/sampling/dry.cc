#include "sampling/dry.h"

#include <algorithm>

namespace mlxcel {
namespace {

// Whether a breaker ends at history[last].
bool breaker_ends_at(const SamplingParams& p, std::span<const int32_t> history, size_t last) {
  for (const auto& b : p.dry_sequence_breakers) {
    if (b.size() <= last + 1 &&
        std::equal(b.begin(), b.end(), history.begin() + last + 1 - b.size()))
      return true;
  }
  return false;
}

// Tokens at the end of the history that belong to no breaker, at most kMaxDryMatch.
int unbroken_tail(const SamplingParams& p, std::span<const int32_t> history) {
  const int most = static_cast<int>(std::min<size_t>(kMaxDryMatch, history.size()));
  for (int n = 0; n < most; n++)
    if (breaker_ends_at(p, history, history.size() - 1 - n)) return n;
  return most;
}

float penalty(const SamplingParams& p, int match) {
  double power = p.dry_multiplier;  // at most 1000 * 4^49: a finite float
  for (int i = p.dry_allowed_length; i < match; i++) power *= p.dry_base;
  return static_cast<float>(power);
}

}  // namespace

void Dry::penalties(const SamplingParams& p, std::span<const int32_t> history,
                    std::vector<DryPenalty>& out) {
  out.clear();
  if (p.dry_multiplier == 0 || history.empty()) return;
  if (p.dry_penalty_last_n >= 0 && static_cast<size_t>(p.dry_penalty_last_n) < history.size())
    history = history.last(p.dry_penalty_last_n);
  if (history.empty()) return;
  const int n = static_cast<int>(history.size());
  const int longest = unbroken_tail(p, history);
  if (longest < p.dry_allowed_length) return;

  // The Z function of the history read backwards: match_[d] is the length of the longest suffix of
  // history[0, n - d) that is also one of the whole. [left, right) is the match that reaches
  // furthest; inside it the answer is known from its start.
  match_.assign(n, 0);
  const auto back = [&](int i) { return history[n - 1 - i]; };
  for (int d = 1, left = 0, right = 0; d < n; d++) {
    int m = d < right ? std::min(right - d, match_[d - left]) : 0;
    while (d + m < n && back(m) == back(d + m)) m++;
    match_[d] = m;
    if (d + m > right) left = d, right = d + m;
    const int length = std::min(m, longest);
    if (length < p.dry_allowed_length) continue;
    if (breaker_ends_at(p, history, n - d)) continue;
    out.push_back({back(d - 1), penalty(p, length)});
  }
  // Longer matches have larger penalties (base >= 1): the first of equal tokens is the one to keep.
  std::sort(out.begin(), out.end(), [](const DryPenalty& a, const DryPenalty& b) {
    return a.token != b.token ? a.token < b.token : a.penalty > b.penalty;
  });
  out.erase(
      std::unique(out.begin(), out.end(),
                  [](const DryPenalty& a, const DryPenalty& b) { return a.token == b.token; }),
      out.end());
}

}  // namespace mlxcel
