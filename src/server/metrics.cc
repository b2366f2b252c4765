#include "server/metrics.h"

#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

namespace mlxcel::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

class Families {
 public:
  void counter(const char* name, const char* help, double value) {
    add(name, help, MetricType::Counter).counter.value = value;
  }
  void gauge(const char* name, const char* help, double value) {
    add(name, help, MetricType::Gauge).gauge.value = value;
  }
  std::vector<MetricFamily> all;

 private:
  prometheus::ClientMetric& add(const char* name, const char* help, MetricType type) {
    all.push_back({name, help, type, {prometheus::ClientMetric()}});
    return all.back().metric.front();
  }
};

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace

struct Metrics::Histograms {
  using Buckets = prometheus::Histogram::BucketBoundaries;
  prometheus::Registry registry;
  prometheus::Histogram& add(const char* name, const char* help, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
  }
  const Buckets long_times = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
  const Buckets short_times = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5};
  prometheus::Histogram& first_token =
      add("mlxcel_time_to_first_token_seconds", "From arrival to the first token", long_times);
  prometheus::Histogram& between =
      add("mlxcel_inter_token_seconds", "Between two tokens of an answer", short_times);
  prometheus::Histogram& queue =
      add("mlxcel_queue_seconds", "From arrival to the first step", long_times);
  prometheus::Histogram& whole =
      add("mlxcel_request_seconds", "From arrival to the end", long_times);
};

Metrics::Metrics() : histograms_(std::make_unique<Histograms>()) {}
Metrics::~Metrics() = default;

void Metrics::between_tokens(double s) { histograms_->between.Observe(s); }

void Metrics::finished(const FinishEvent& e) {
  const RequestStats& s = e.stats;
  histograms_->whole.Observe(seconds(s.finished - s.submitted));
  if (s.generated_tokens == 0) return;
  histograms_->first_token.Observe(seconds(s.first_token - s.submitted));
  histograms_->queue.Observe(seconds(s.started - s.submitted));
  const std::lock_guard lock(mutex_);
  prompt_seconds_ += seconds(s.first_token - s.started);
  predicted_seconds_ += seconds(s.finished - s.first_token);
  lookups_.all++;
  lookups_.found += s.cached_tokens > 0 ? 1 : 0;
}

Lookups Metrics::lookups() const {
  const std::lock_guard lock(mutex_);
  return lookups_;
}

std::vector<MetricFamily> Metrics::families(const EngineStats& s, int32_t in_flight,
                                            const std::string& model) const {
  Families f;
  double prompt = 0, predicted = 0;
  Lookups looked;
  {
    const std::lock_guard lock(mutex_);
    looked = lookups_;
    prompt = prompt_seconds_, predicted = predicted_seconds_;
  }
  const auto ran = static_cast<double>(s.prompt_tokens - s.cached_tokens);
  const auto generated = static_cast<double>(s.generated_tokens);
  const auto used = static_cast<double>(s.pages - s.pages_free);
  f.counter("llamacpp:prompt_tokens_total", "Prompt tokens run", ran);
  f.counter("llamacpp:prompt_seconds_total", "Time with prompts", prompt);
  f.counter("llamacpp:tokens_predicted_total", "Tokens generated", generated);
  f.counter("llamacpp:tokens_predicted_seconds_total", "Time with answers", predicted);
  f.counter("llamacpp:n_decode_total", "Steps of the engine", static_cast<double>(s.steps));
  f.gauge("llamacpp:prompt_tokens_seconds", "Prompt tokens a second", ratio(ran, prompt));
  f.gauge("llamacpp:predicted_tokens_seconds", "Tokens a second", ratio(generated, predicted));
  f.gauge("llamacpp:n_busy_slots_per_decode", "Rows with logits per step",
          ratio(static_cast<double>(s.head_rows), static_cast<double>(s.steps)));
  f.gauge("llamacpp:requests_processing", "Requests that run", static_cast<double>(s.running));
  f.gauge("llamacpp:requests_deferred", "Requests that wait", static_cast<double>(s.waiting));
  f.gauge("llamacpp:kv_cache_usage_ratio", "KV pages in use", ratio(used, s.pages));
  f.gauge("mlxcel_requests_in_flight", "Requests accepted and not ended", in_flight);
  f.gauge("mlxcel_kv_pages", "KV pages of the first group", s.pages);
  f.gauge("mlxcel_kv_pages_free", "KV pages that hold nothing", s.pages_free);
  f.gauge("mlxcel_kv_pages_idle", "KV pages that only the prefix cache holds", s.pages_idle);
  f.gauge("mlxcel_prefix_nodes", "Nodes of the prefix tree", s.prefix_nodes);
  const auto total = [](uint64_t n) { return static_cast<double>(n); };
  f.counter("mlxcel_cached_tokens_total", "Prompt tokens found in the prefix cache",
            total(s.cached_tokens));
  f.counter("mlxcel_prefix_lookups_total", "Requests that asked the prefix cache",
            total(looked.all));
  f.counter("mlxcel_prefix_hits_total", "Those of them that found something", total(looked.found));
  f.counter("mlxcel_step_rows_total", "Rows of all steps", total(s.rows));
  f.counter("mlxcel_requests_total", "Requests taken by the engine", total(s.submitted));
  f.counter("mlxcel_requests_finished_total", "Requests ended", total(s.finished));
  f.counter("mlxcel_requests_failed_total", "Requests that failed", total(s.failed));
  f.counter("mlxcel_requests_cancelled_total", "Requests cancelled", total(s.cancelled));
  f.counter("mlxcel_preemptions_total", "Preemptions", total(s.preemptions));
  auto all = std::move(f.all);
  for (auto& h : histograms_->registry.Collect()) all.push_back(std::move(h));
  if (!model.empty())
    for (MetricFamily& family : all)
      for (prometheus::ClientMetric& m : family.metric) m.label.push_back({"model", model});
  return all;
}

std::string metrics_text(std::vector<MetricFamily> families) {
  std::vector<MetricFamily> merged;
  for (MetricFamily& f : families) {
    const auto known = std::find_if(merged.begin(), merged.end(),
                                    [&](const MetricFamily& m) { return m.name == f.name; });
    if (known == merged.end()) {
      merged.push_back(std::move(f));
    } else {
      known->metric.insert(known->metric.end(), f.metric.begin(), f.metric.end());
    }
  }
  return prometheus::TextSerializer().Serialize(merged);
}

}  // namespace mlxcel::server
