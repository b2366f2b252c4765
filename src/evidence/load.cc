#include "evidence/load.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/cat.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

// One token each in most vocabularies, with the blank before them.
constexpr const char* kWords[] = {
    "time",    "year",    "people",   "way",    "day",    "man",     "thing",   "woman",
    "life",    "child",   "world",    "school", "state",  "family",  "student", "group",
    "country", "problem", "hand",     "part",   "place",  "case",    "week",    "company",
    "system",  "program", "question", "work",   "number", "night",   "point",   "home",
    "water",   "room",    "mother",   "area",   "money",  "story",   "fact",    "month",
    "lot",     "right",   "study",    "book",   "eye",    "job",     "word",    "business",
    "issue",   "side",    "kind",     "head",   "house",  "service", "friend",  "father",
    "power",   "hour",    "game",     "line",   "end",    "member",  "law",     "car"};

std::string words(std::mt19937_64& random, int count) {
  std::string text;
  for (int i = 0; i < count; i++)
    text += cat(i == 0 ? "" : " ", kWords[random() % std::size(kWords)]);
  return text;
}

// In (0, 1].
double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 1) * 0x1p-53;
}

std::vector<double> between(const Outcome& o) {
  std::vector<double> gaps;
  for (size_t i = 1; i < o.pieces_s.size(); i++) gaps.push_back(o.pieces_s[i] - o.pieces_s[i - 1]);
  return gaps;
}

bool within_limits(const Outcome& o, const LoadOptions& options) {
  if (options.ttft_limit_s > 0 && o.ttft_s() > options.ttft_limit_s) return false;
  if (options.itl_limit_s <= 0 || o.pieces_s.size() < 2) return true;
  const double mean =
      (o.pieces_s.back() - o.pieces_s.front()) / static_cast<double>(o.pieces_s.size() - 1);
  return mean <= options.itl_limit_s;
}

void quantiles(const std::vector<double>& seconds, double (&ms)[4]) {
  for (int i = 0; i < 4 && !seconds.empty(); i++)
    ms[i] = 1000 * quantile(seconds, kLoadQuantiles[i]);
}

}  // namespace

bool embeds(std::string_view endpoint) { return endpoint == "embeddings" || endpoint == "rerank"; }

std::vector<LoadRequest> plan_load(const LoadOptions& o, int repeat) {
  // Any 64-bit mix does: it only has to differ between repetitions.
  std::mt19937_64 random(o.seed * 1000003 + static_cast<uint64_t>(repeat + 1));
  std::mt19937_64 shared(o.seed);
  const int own = o.prompt_words - o.prefix_words;
  const std::string prefix = words(shared, o.prefix_words);
  std::vector<LoadRequest> all(static_cast<size_t>(repeat < 0 ? o.warmup : o.requests));
  double due = 0;
  for (LoadRequest& r : all) {
    r.prompt = cat(prefix, prefix.empty() || own == 0 ? "" : " ", words(random, own));
    for (int i = 0; o.embeds && i < o.texts; i++) r.texts.push_back(words(random, o.prompt_words));
    r.due_s = due;
    if (o.rate > 0) due -= std::log(uniform(random)) / o.rate;
  }
  return all;
}

LoadFigures load_figures(std::span<const Outcome> outcomes, const LoadOptions& options) {
  LoadFigures f;
  std::vector<double> first, gaps, whole;
  double start = 0, end = 0, within = 0;
  for (const Outcome& o : outcomes) {
    if (!o.good()) {
      f.failed++;
      continue;
    }
    start = f.good == 0 ? o.sent_s : std::min(start, o.sent_s);
    end = std::max(end, o.end_s);
    f.good++;
    within += within_limits(o, options) ? 1 : 0;
    first.push_back(o.ttft_s()), whole.push_back(o.e2e_s());
    const auto its = between(o);
    gaps.insert(gaps.end(), its.begin(), its.end());
    f.prompt_tokens += o.prompt_tokens, f.output_tokens += o.output_tokens;
    f.cached_tokens += o.cached_tokens;
  }
  if (f.good == 0) return f;
  const double seconds = end - start;
  f.throughput_tok_s = (options.embeds ? f.prompt_tokens : f.output_tokens) / seconds;
  f.requests_s = f.good / seconds, f.goodput_s = within / seconds;
  f.prompt_tokens /= f.good, f.output_tokens /= f.good, f.cached_tokens /= f.good;
  quantiles(first, f.ttft_ms), quantiles(gaps, f.itl_ms), quantiles(whole, f.e2e_ms);
  return f;
}

std::vector<Metric> load_metrics(std::span<const LoadFigures> repeats) {
  std::vector<Metric> metrics;
  const auto add = [&](const std::string& name, const char* unit, bool steady, auto value) {
    Metric m = {name, unit, {}, steady};
    for (const LoadFigures& f : repeats) m.samples.push_back(value(f));
    // What no answer had (a second token, a limit) is no measurement.
    if (std::any_of(m.samples.begin(), m.samples.end(), [](double v) { return v > 0; }))
      metrics.push_back(std::move(m));
  };
  add("throughput_tok_s", "tok/s", true, [](const auto& f) { return f.throughput_tok_s; });
  add("requests_s", "1/s", false, [](const auto& f) { return f.requests_s; });
  add("goodput_s", "1/s", false, [](const auto& f) { return f.goodput_s; });
  for (int i = 0; i < 4; i++) {
    const std::string q = kLoadQuantileNames[i];
    add("ttft_ms_" + q, "ms", false, [i](const auto& f) { return f.ttft_ms[i]; });
    add("itl_ms_" + q, "ms", false, [i](const auto& f) { return f.itl_ms[i]; });
    add("e2e_ms_" + q, "ms", false, [i](const auto& f) { return f.e2e_ms[i]; });
  }
  return metrics;
}

std::string load_csv(const std::vector<std::vector<Outcome>>& repeats) {
  std::string csv =
      "repeat,request,status,sent_s,ttft_ms,itl_mean_ms,itl_max_ms,e2e_ms,prompt_tokens,"
      "cached_tokens,output_tokens,pieces,error\n";
  for (size_t r = 0; r < repeats.size(); r++) {
    for (size_t i = 0; i < repeats[r].size(); i++) {
      const Outcome& o = repeats[r][i];
      const auto gaps = between(o);
      double sum = 0, most = 0;
      for (const double g : gaps) sum += g, most = std::max(most, g);
      const double mean = gaps.empty() ? 0 : sum / static_cast<double>(gaps.size());
      std::string error = o.error;
      std::replace_if(
          error.begin(), error.end(), [](char c) { return c == ',' || c == '"' || c < ' '; }, ' ');
      csv += cat(r, ",", i, ",", o.status, ",", o.sent_s, ",",
                 o.pieces_s.empty() ? 0.0 : 1000 * o.ttft_s(), ",", 1000 * mean, ",", 1000 * most,
                 ",", 1000 * o.e2e_s(), ",", o.prompt_tokens, ",", o.cached_tokens, ",",
                 o.output_tokens, ",", o.pieces_s.size(), ",", error, "\n");
    }
  }
  return csv;
}

}  // namespace mlxcel
