// bench serve: what a load generator asks of a server, and what its answers say about the server.
// Connections are the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evidence/record.h"

namespace mlxcel {

struct LoadOptions {
  int requests = 64;
  int concurrency = 8;     // requests under way at once; with a rate: at most
  double rate = 0;         // requests a second on average, as a Poisson process; 0: as they end
  int prompt_words = 512;  // about as many tokens
  int prefix_words = 0;    // of them: the same in all requests
  int output_tokens = 64;
  int warmup = 8;  // requests before each repetition, not counted
  int repeats = 3;
  int texts = 1;        // of a request that embeds; documents of one that ranks
  bool embeds = false;  // answers have no tokens: those of the prompts count
  uint64_t seed = 1;
  double ttft_limit_s = 0, itl_limit_s = 0;  // goodput counts answers within both; 0: no limit
};

struct LoadRequest {
  double due_s = 0;  // from the start of the repetition; only with a rate
  std::string prompt;
  std::vector<std::string> texts;  // what is embedded or ranked
};

// Whether an endpoint answers with numbers instead of tokens: "embeddings", "rerank".
bool embeds(std::string_view endpoint);

// Repetition `repeat` of the load; repetition -1 is a warm-up. No two requests have the same
// prompt.
std::vector<LoadRequest> plan_load(const LoadOptions& options, int repeat);

// One answer; times in seconds from the start of the repetition.
struct Outcome {
  double sent_s = 0, end_s = 0;
  std::vector<double> pieces_s;  // when each delta with text came: content, reasoning or calls
  int prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;  // as the server counts
  int status = 0;                                               // HTTP; 0: no answer
  std::string error;                                            // why it does not count

  bool good() const { return error.empty() && !pieces_s.empty(); }
  double ttft_s() const { return pieces_s.front() - sent_s; }
  double e2e_s() const { return end_s - sent_s; }
};

// One repetition in numbers. Milliseconds; quantiles over all good answers, of inter-token times
// over all their pieces.
struct LoadFigures {
  double throughput_tok_s = 0, requests_s = 0, goodput_s = 0;
  double ttft_ms[4] = {}, itl_ms[4] = {}, e2e_ms[4] = {};  // p50, p90, p95, p99
  int good = 0, failed = 0;
  double prompt_tokens = 0, output_tokens = 0, cached_tokens = 0;  // of an answer, on average
};
inline constexpr double kLoadQuantiles[4] = {0.5, 0.9, 0.95, 0.99};
inline constexpr const char* kLoadQuantileNames[4] = {"p50", "p90", "p95", "p99"};

LoadFigures load_figures(std::span<const Outcome> outcomes, const LoadOptions& options);

// A metric for each figure, a sample for each repetition.
std::vector<Metric> load_metrics(std::span<const LoadFigures> repeats);

// A row for each request.
std::string load_csv(const std::vector<std::vector<Outcome>>& repeats);
// How times are distributed: the share of answers (of TTFT and end to end) and of pieces (between
// tokens) that took at most so long.
std::string load_svg(const std::vector<std::vector<Outcome>>& repeats, const std::string& title);

}  // namespace mlxcel
