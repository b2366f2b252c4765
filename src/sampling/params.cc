#include "sampling/params.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "base/cat.h"
#include "base/logits.h"

namespace mlxcel {
namespace {

template <class T>
Error refuse(std::string_view option, T value, std::string_view reason, std::string_view instead) {
  return {Code::kInvalid, cat(option, " = ", value, ": ", reason, "; ", instead)};
}

// A NaN fails every comparison, hence !(in range).
Status in_range(std::string_view option, float value, float low, float high,
                std::string_view instead) {
  if (!(value >= low && value <= high))
    return refuse(option, value, cat("expected a number from ", low, " to ", high), instead);
  return Ok{};
}

Status at_least(std::string_view option, int64_t value, int64_t low, std::string_view instead) {
  if (value < low) return refuse(option, value, cat("expected at least ", low), instead);
  return Ok{};
}

Status in_vocab(std::string_view option, int32_t token, int64_t vocab) {
  if (token < 0 || token >= vocab) {
    return refuse(option, token, cat("not a token of this model's vocabulary of ", vocab),
                  cat("use an id from 0 to ", vocab - 1));
  }
  return Ok{};
}

Status check_filters(const SamplingParams& p) {
  TRY_OK(in_range("temperature", p.temperature, 0, 1000, "use 0 for the most likely token"));
  TRY_OK(at_least("top_k", p.top_k, 0, "use 0 to keep all tokens"));
  TRY_OK(in_range("top_p", p.top_p, 0, 1, "use 1 to keep all tokens"));
  return in_range("min_p", p.min_p, 0, 1, "use 0 to keep all tokens");
}

Status check_penalties(const SamplingParams& p, int64_t vocab) {
  if (!(p.repetition_penalty > 0 && p.repetition_penalty <= 100)) {
    return refuse("repetition_penalty", p.repetition_penalty, "expected above 0 and at most 100",
                  "use 1 for none");
  }
  TRY_OK(at_least("repeat_last_n", p.repeat_last_n, -1, "use -1 for the whole history"));
  TRY_OK(in_range("presence_penalty", p.presence_penalty, -2, 2, "use 0 for none"));
  TRY_OK(in_range("frequency_penalty", p.frequency_penalty, -2, 2, "use 0 for none"));
  TRY_OK(in_range("dry_multiplier", p.dry_multiplier, 0, 1000, "use 0 for none"));
  TRY_OK(in_range("dry_base", p.dry_base, 1, 4, "use 1.75"));
  TRY_OK(at_least("dry_allowed_length", p.dry_allowed_length, 1, "use 2"));
  TRY_OK(at_least("dry_penalty_last_n", p.dry_penalty_last_n, -1, "use -1 for the whole history"));
  for (const auto& breaker : p.dry_sequence_breakers) {
    if (breaker.empty())
      return refuse("dry_sequence_breakers", "[]", "a breaker has no tokens", "leave it out");
    for (const int32_t token : breaker) TRY_OK(in_vocab("dry_sequence_breakers", token, vocab));
  }
  return Ok{};
}

}  // namespace

Status check(const SamplingParams& p, int64_t vocab) {
  TRY_OK(check_filters(p));
  TRY_OK(check_penalties(p, vocab));
  for (const auto& [token, bias] : p.logit_bias) {
    TRY_OK(in_vocab("logit_bias", token, vocab));
    TRY_OK(in_range(cat("logit_bias[", token, "]"), bias, -100, 100,
                    "use -100 to forbid a token and 100 to force it"));
  }
  for (const int32_t token : p.end_tokens) TRY_OK(in_vocab("end_tokens", token, vocab));
  for (const int32_t token : p.stop_tokens) TRY_OK(in_vocab("stop_tokens", token, vocab));
  TRY_OK(at_least("max_tokens", p.max_tokens, -1, "use -1 to run until the context is full"));
  if (p.logprobs < 0 || p.logprobs > kMaxTopLogprobs) {
    return refuse("logprobs", p.logprobs, cat("expected from 0 to ", kMaxTopLogprobs),
                  cat("use ", kMaxTopLogprobs, " for the most"));
  }
  return Ok{};
}

uint64_t choose_seed(const SamplingParams& p) {
  if (p.seed) return *p.seed;
  std::random_device entropy;
  return static_cast<uint64_t>(entropy()) << 32 | entropy();
}

bool ends(const SamplingParams& p, int32_t token) {
  const auto has = [&](const std::vector<int32_t>& ids) {
    return std::find(ids.begin(), ids.end(), token) != ids.end();
  };
  return has(p.stop_tokens) || (!p.ignore_eos && has(p.end_tokens));
}

}  // namespace mlxcel
