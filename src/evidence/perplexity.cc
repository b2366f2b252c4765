#include "evidence/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"

namespace mlxcel {

double negative_log_likelihood(std::span<const float> logits, int32_t id) {
  double top = logits[0], sum = 0;
  for (const float x : logits) top = std::max(top, static_cast<double>(x));
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - top);
  return std::log(sum) + top - static_cast<double>(logits[static_cast<size_t>(id)]);
}

double PerplexityResult::mean() const {
  double sum = 0;
  for (const double x : nll) sum += x;
  return nll.empty() ? 0 : sum / static_cast<double>(nll.size());
}

double PerplexityResult::perplexity() const { return std::exp(mean()); }

Result<PerplexityResult> measure_perplexity(
    MeasuredModel& model, std::span<const int32_t> ids, const PerplexityOptions& o,
    const std::function<bool(int64_t, int64_t, double)>& on_window) {
  const auto count = static_cast<int64_t>(ids.size());
  if (count < 2)
    return Error{Code::kInvalid, cat("perplexity: expected at least 2 tokens, found ", count)};
  for (int64_t i = 0; i < count; i++) {
    if (ids[i] < 0 || ids[i] >= model.vocab()) {
      return Error{Code::kInvalid, cat("perplexity: token ", i, ": expected an id below ",
                                       model.vocab(), ", found ", ids[i])};
    }
  }
  const int64_t window = std::min<int64_t>(o.window, count);
  int64_t windows = count / window;
  if (o.most > 0) windows = std::min<int64_t>(windows, o.most);
  EngineOptions options;
  options.context = static_cast<int32_t>(window + 1);
  options.max_sequences = 1;
  options.max_rows = static_cast<int32_t>(std::clamp<int64_t>(window, 2, 512));
  options.max_head_rows = options.max_rows;
  TRY(auto engine, model.open(options));
  PerplexityResult result;
  for (int64_t w = 0; w < windows; w++) {
    const auto part = ids.subspan(static_cast<size_t>(w * window), static_cast<size_t>(window));
    Request r;
    r.tokens.assign(part.begin(), part.end());
    r.sampling.temperature = 0, r.sampling.max_tokens = 0;
    r.prefix_cache = false, r.logits_from = 0, r.chunk = o.chunk;
    std::vector<double> scores(static_cast<size_t>(window - 1), 0.0);
    int64_t scored = 0;
    std::string failure;
    r.on_logits = [&](int32_t position, std::span<const float> logits) {
      if (position + 1 >= window) return;
      scores[static_cast<size_t>(position)] =
          negative_log_likelihood(logits, part[static_cast<size_t>(position) + 1]);
      scored++;
    };
    r.on_finish = [&](const FinishEvent& e) {
      if (e.reason != FinishReason::kLength) failure = e.message + " ";
    };
    TRY_OK(engine->submit(std::move(r)));
    engine->run_all();
    if (!failure.empty()) return Error{Code::kInvalid, cat("perplexity: ", failure)};
    if (scored != window - 1) {
      return Error{Code::kInvalid, cat("perplexity: window ", w, ": expected ", window - 1,
                                       " scored positions, found ", scored)};
    }
    for (const double s : scores) {
      if (!std::isfinite(s))
        return Error{Code::kInvalid, cat("perplexity: window ", w, ": logits are not finite")};
    }
    result.nll.insert(result.nll.end(), scores.begin(), scores.end());
    result.windows++;
    if (on_window && !on_window(result.windows, windows, result.perplexity())) break;
  }
  return result;
}

}  // namespace mlxcel
