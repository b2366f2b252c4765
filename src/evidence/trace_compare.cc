#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/cat.h"
#include "evidence/statistics.h"
#include "evidence/trace.h"

namespace mlxcel {
namespace {

constexpr double kEdges[] = {0, 0.1, 0.25, 0.5, 1, 2, 4};

std::string fact(const Trace& t, const std::string& key) {
  const auto found = t.facts.find(key);
  return found == t.facts.end() ? "" : found->second;
}

Status check(const Trace& a, const Trace& b) {
  if (a.rows.empty()) return Error{Code::kInvalid, "trace compare: expected rows, found none"};
  if (a.rows.size() != b.rows.size()) {
    return Error{Code::kInvalid, cat("trace compare: expected equal lengths, found ", a.rows.size(),
                                     " and ", b.rows.size(), " rows")};
  }
  for (const char* key : {"ids_sha256", "chunk", "prefill"}) {
    if (fact(a, key) != fact(b, key)) {
      return Error{Code::kInvalid, cat("trace compare: ", key, ": expected ", fact(a, key),
                                       " in both, found ", fact(b, key))};
    }
  }
  for (size_t i = 0; i < a.rows.size(); i++) {
    const TraceRow &x = a.rows[i], &y = b.rows[i];
    if (x.position != y.position || x.target != y.target) {
      return Error{Code::kInvalid,
                   cat("trace compare: row ", i, ": expected position ", x.position, " and target ",
                       x.target, " in both, found ", y.position, " and ", y.target)};
    }
  }
  return Ok{};
}

void add_rank(const TraceRow& reference, int32_t chosen, TraceComparison& c) {
  for (size_t i = 1; i < reference.top.size(); i++) {
    if (reference.top[i].first != chosen) continue;
    if (c.ranks.size() < i) c.ranks.resize(i, 0);
    c.ranks[i - 1]++;
    return;
  }
  c.beyond++;
}

void add_deltas(const TraceRow& a, const TraceRow& b, std::vector<double>& deltas) {
  deltas.push_back(std::abs(a.target_logit - b.target_logit));
  for (const auto& [id, logit] : a.top) {
    for (const auto& [other_id, other] : b.top) {
      if (id == other_id)
        deltas.push_back(std::abs(static_cast<double>(logit) - static_cast<double>(other)));
    }
  }
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string printed(const char* format, double v) {
  char text[64];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string verdict(const TraceComparison& c) {
  const std::string gap = cat("a gap above ", c.gap);
  if (c.delta[4] == 0) return "The logits are equal: there is no difference at any gap.";
  if (c.differ == 0) return "The logits differ, but both choose the same token at every position.";
  if (c.decided == 0)
    return cat("The two disagree, and the reference decides nowhere (", gap,
               "): this corpus can say no more.");
  if (c.decided_differ == 0) {
    return cat("The two disagree only where the reference itself is near a tie: nowhere with ", gap,
               ".");
  }
  return cat("The two disagree at ", printed("%.3f", percent(c.decided_differ, c.decided)),
             " % of the positions that the reference decides by ", gap,
             ": that is a difference of the models, not of rounding.");
}

}  // namespace

Result<TraceComparison> compare_traces(const Trace& a, const Trace& b, double gap) {
  TRY_OK(check(a, b));
  TraceComparison c;
  c.gap = gap, c.positions = static_cast<int64_t>(a.rows.size());
  for (size_t i = 0; i < std::size(kEdges); i++) {
    const bool last = i + 1 == std::size(kEdges);
    c.buckets.push_back(
        {kEdges[i], last ? std::numeric_limits<double>::infinity() : kEdges[i + 1]});
  }
  std::vector<double> deltas;
  double nll_a = 0, nll_b = 0;
  for (size_t i = 0; i < a.rows.size(); i++) {
    const TraceRow &x = a.rows[i], &y = b.rows[i];
    const double between =
        static_cast<double>(x.top[0].second) - static_cast<double>(x.top[1].second);
    const bool differ = x.top[0].first != y.top[0].first;
    for (TraceBucket& bucket : c.buckets) {
      if (between < bucket.from || between >= bucket.to) continue;
      bucket.positions++, bucket.differ += differ ? 1 : 0;
    }
    c.differ += differ ? 1 : 0;
    c.decided += between > gap ? 1 : 0;
    c.decided_differ += differ && between > gap ? 1 : 0;
    if (differ) add_rank(x, y.top[0].first, c);
    add_deltas(x, y, deltas);
    nll_a += x.nll, nll_b += y.nll;
  }
  for (size_t i = 0; i < 5; i++) c.delta[i] = quantile(deltas, kDeltaQuantiles[i]);
  c.reference_perplexity = std::exp(nll_a / static_cast<double>(c.positions));
  c.other_perplexity = std::exp(nll_b / static_cast<double>(c.positions));
  for (const auto& [key, value] : a.facts) {
    if (const std::string other = fact(b, key); other != value)
      c.different_facts.push_back(cat(key, ": ", value, " against ", other));
  }
  c.verdict = verdict(c);
  return c;
}

std::string trace_comparison_text(const TraceComparison& c) {
  std::string out;
  for (const std::string& f : c.different_facts) out += f + "\n";
  out += cat("positions ", c.positions, ", disagreements ", c.differ, " (",
             printed("%.3f", percent(c.differ, c.positions)), " %)\n");
  out += cat("decided by more than ", c.gap, ": ", c.decided, ", disagreements ", c.decided_differ,
             " (", printed("%.3f", percent(c.decided_differ, c.decided)), " %)\n\n");
  out += "gap of the reference   positions   differ\n";
  for (const TraceBucket& b : c.buckets) {
    const std::string range =
        std::isinf(b.to) ? cat(b.from, " and more") : cat(b.from, " to ", b.to);
    out += range + std::string(range.size() < 20 ? 20 - range.size() : 0, ' ');
    out += printed("%12.0f", static_cast<double>(b.positions)) +
           printed("%9.0f", static_cast<double>(b.differ)) + "\n";
  }
  out += "\nwhere they disagree, the other's choice is the reference's\n";
  for (size_t i = 0; i < c.ranks.size(); i++)
    out += cat("  candidate ", i + 2, ": ", c.ranks[i], "\n");
  out += cat("  none of its candidates: ", c.beyond, "\n\n|difference of logits|:");
  for (size_t i = 0; i < 5; i++) {
    out += cat(i == 0 ? " " : ", ", i == 4 ? "largest" : cat("p", 100 * kDeltaQuantiles[i]), " ",
               printed("%.4g", c.delta[i]));
  }
  out += cat("\nperplexity ", printed("%.5f", c.reference_perplexity), " against ",
             printed("%.5f", c.other_perplexity), "\n\n", c.verdict, "\n");
  return out;
}

}  // namespace mlxcel
