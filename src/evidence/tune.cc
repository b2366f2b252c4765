#include "evidence/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "evidence/record.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

constexpr const char* kSchema = "mlxcel-tune-1";

std::string percent(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * v);
  return text;
}

}  // namespace

double scatter(const std::vector<double>& v) {
  const double middle = median(v);
  std::vector<double> deviations;
  deviations.reserve(v.size());
  for (const double x : v) deviations.push_back(std::abs(x - middle));
  return 1.4826 * median(std::move(deviations));
}

TuneChoice choose_variant(const std::vector<TuneVariant>& variants) {
  CHECK(!variants.empty());
  const TuneVariant& standard = variants.front();
  const double base = median(standard.seconds), base_scatter = scatter(standard.seconds);
  const TuneVariant* best = &standard;
  std::string unequal;
  double best_time = base;
  for (const TuneVariant& v : variants) {
    if (!v.equal) {
      unequal += cat("; ", v.name, " gives other bits and is out");
      continue;
    }
    const double time = median(v.seconds);
    const double least =
        std::max(kTuneMads * std::max(base_scatter, scatter(v.seconds)), kTuneLeast * base);
    if (base - time > least && time < best_time) best = &v, best_time = time;
  }
  TuneChoice c = {best->name, base / best_time, ""};
  c.reason = best == &standard
                 ? cat("no variant is faster than the default by more than the scatter", unequal)
                 : cat(percent(1 - best_time / base), " less time than the default, scatter ",
                       percent(std::max(base_scatter, scatter(best->seconds)) / base), unequal);
  return c;
}

Result<TuneTable> TuneTable::parse(std::string_view where, std::string_view text) {
  boost::system::error_code error;
  const json::value v = json::parse({text.data(), text.size()}, error);
  const auto corrupt = [&](const char* what) {
    return Error{Code::kCorrupt, cat(where, ": expected ", what, ", found something else")};
  };
  if (error || !v.is_object()) return corrupt("a JSON object");
  const json::object& o = v.get_object();
  const json::value *schema = o.if_contains("schema"), *entries = o.if_contains("entries");
  if (schema == nullptr || *schema != kSchema) return corrupt(kSchema);
  if (entries == nullptr || !entries->is_array()) return corrupt("a list of entries");
  TuneTable table;
  for (const json::value& e : entries->get_array()) {
    if (!e.is_object()) return corrupt("an entry");
    TuneEntry entry;
    for (const auto& [name, to] : {std::pair{"kernel", &entry.key.kernel},
                                   {"bucket", &entry.key.bucket},
                                   {"device", &entry.key.device},
                                   {"version", &entry.key.version},
                                   {"variant", &entry.variant}}) {
      const json::value* found = e.get_object().if_contains(name);
      if (found == nullptr || !found->is_string()) return corrupt(name);
      *to = std::string(found->get_string());
    }
    const json::value* seconds = e.get_object().if_contains("seconds");
    if (seconds == nullptr || !seconds->is_number()) return corrupt("seconds");
    entry.seconds = seconds->to_number<double>();
    table.entries_.push_back(std::move(entry));
  }
  return table;
}

std::string TuneTable::text() const {
  json::array all;
  for (const TuneEntry& e : entries_) {
    all.push_back({{"kernel", e.key.kernel},
                   {"bucket", e.key.bucket},
                   {"device", e.key.device},
                   {"version", e.key.version},
                   {"variant", e.variant},
                   {"seconds", e.seconds}});
  }
  return pretty(json::object{{"schema", kSchema}, {"entries", std::move(all)}}) + "\n";
}

void TuneTable::add(TuneEntry entry) {
  std::erase_if(entries_, [&](const TuneEntry& e) {
    return e.key.kernel == entry.key.kernel && e.key.bucket == entry.key.bucket &&
           e.key.device == entry.key.device;
  });
  entries_.push_back(std::move(entry));
}

std::optional<TuneEntry> TuneTable::find(const TuneKey& key) const {
  for (const TuneEntry& e : entries_) {
    if (e.key == key) return e;
  }
  return std::nullopt;
}

std::string decode_variant(const TuneTable& table, const std::string& device,
                           const std::string& version) {
  std::map<std::string, double> seconds;
  for (const TuneEntry& e : table.entries()) {
    const bool ours = e.key.device == device && e.key.version == version;
    if (ours && e.key.bucket.starts_with("1 ")) seconds[e.variant] += e.seconds;
  }
  std::string best;
  for (const auto& [variant, time] : seconds) {
    if (best.empty() || time > seconds[best]) best = variant;
  }
  return best;
}

std::string row_bucket(int64_t rows) {
  return rows <= 1 ? "1" : rows <= 4 ? "2-4" : rows <= 16 ? "5-16" : rows <= 64 ? "17-64" : "65+";
}

}  // namespace mlxcel
