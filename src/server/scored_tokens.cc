#include "server/scored_tokens.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"

namespace mlxcel::server {
namespace {

json::object entry(const Tokenizer& tokenizer, int32_t token, float logprob, bool ids) {
  const std::string bytes =
      tokenizer.is_special(token) ? std::string(tokenizer.spelling(token)) : tokenizer.piece(token);
  json::array numbers;
  for (const char b : bytes) numbers.push_back(static_cast<uint8_t>(b));
  json::object o = {{"token", printable(bytes)},
                    {"logprob", json_logprob(logprob)},
                    {"bytes", std::move(numbers)}};
  if (ids) o["id"] = token;
  return o;
}

}  // namespace

json::array to_json(const std::vector<ScoredToken>& scored, const Tokenizer& tokenizer, bool ids) {
  json::array all;
  for (const ScoredToken& t : scored) {
    json::object o = entry(tokenizer, t.token, t.logprob, ids);
    json::array top;
    for (const TokenLogprob& other : t.top)
      top.push_back(entry(tokenizer, other.token, other.logprob, ids));
    o["top_logprobs"] = std::move(top);
    all.push_back(std::move(o));
  }
  return all;
}

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
