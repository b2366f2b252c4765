#include "server/prompt_scores.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"

namespace mlxcel::server {

ScoredToken score_token(std::span<const float> logits, int32_t token, int32_t top) {
  constexpr double kNothing = -700;  // below what exact_exp takes; less than a double's last bit
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits)
    if (x - most > kNothing) sum += exact_exp(x - most);
  const double shift = most + exact_log(sum);
  const auto logprob = [&](int32_t id) { return static_cast<float>(logits[id] - shift); };
  ScoredToken scored = {token, logprob(token), {}};
  if (top == 0) return scored;
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto count = std::min<size_t>(static_cast<size_t>(top), ids.size());
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count), ids.end(),
      [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  for (size_t i = 0; i < count; i++) scored.top.push_back({ids[i], logprob(ids[i])});
  return scored;
}

}  // namespace mlxcel::server
