// Teacher-forced logits at a chosen width: what two builds, or two settings of one, make of the
// same tokens, position by position.
//
// A free run ends the comparison at the first token that differs. Here every row of a forward has
// the corpus's token, so that all positions compare. The width of the forward decides which kernel
// runs, hence it is chosen, and so is the context before the first traced row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "evidence/host.h"

namespace mlxcel {

struct TraceOptions {
  int chunk = 5;        // rows of a traced forward
  int max_chunks = 60;  // forwards traced
  int top = 8;          // candidates kept for each row
  int prefill = 0;      // positions of context whose rows are not traced
};

struct TraceRow {
  int32_t position = 0, target = 0;  // the corpus's next token
  double target_logit = 0, nll = 0;
  std::vector<std::pair<int32_t, float>> top;  // id, logit; largest first, ties to the lower id
};

struct Trace {
  std::map<std::string, std::string> facts;  // model, ids_sha256, chunk, prefill, commit, ...
  std::vector<TraceRow> rows;
};

// Refuses a corpus that is too short for one forward, and logits that are not finite. `on_row`
// hears of each row; false stops, and the whole chunks so far count.
Result<Trace> make_trace(MeasuredModel& model, std::span<const int32_t> ids,
                         const TraceOptions& options,
                         const std::function<bool(int64_t done, int64_t total)>& on_row = {});

std::string trace_text(const Trace& trace);  // TSV
// Refuses a file that was cut off or holds a number that is not finite.
Result<Trace> parse_trace(std::string_view path, std::string_view text);

struct TraceBucket {
  double from = 0, to = 0;  // of the reference's gap between its first and second
  int64_t positions = 0, differ = 0;
};

struct TraceComparison {
  int64_t positions = 0, differ = 0;        // the first candidates differ
  int64_t decided = 0, decided_differ = 0;  // where the reference's gap is above `gap`
  double gap = 0;
  std::vector<TraceBucket> buckets;
  std::vector<int64_t> ranks;  // [i]: the other's choice is the reference's candidate i + 2
  int64_t beyond = 0;          // it is none of the reference's candidates
  double delta[5] = {};        // |logit difference| of common candidates: kDeltaQuantiles
  double reference_perplexity = 0, other_perplexity = 0;
  std::vector<std::string> different_facts;  // "commit: a against b"
  std::string verdict;
};

inline constexpr double kDeltaQuantiles[5] = {0.5, 0.9, 0.99, 0.999, 1};

// Refuses traces of other tokens, positions or widths.
Result<TraceComparison> compare_traces(const Trace& reference, const Trace& other, double gap);
std::string trace_comparison_text(const TraceComparison& c);

}  // namespace mlxcel
