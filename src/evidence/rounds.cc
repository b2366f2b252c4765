#include "evidence/rounds.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr size_t kFewestRounds = 3;
constexpr const char* kNull = "null";

std::string letters(const std::vector<int>& order, int arms) {
  std::string text;
  for (const int arm : order)
    text += cat(text.empty() ? "" : " ", arm == arms ? 'N' : static_cast<char>('A' + arm));
  return text;
}

Status check(const RoundsOptions& o) {
  if (o.arms.size() < 2 || o.arms.size() > 20)
    return Error{Code::kInvalid, cat("rounds: expected 2 to 20 arms, found ", o.arms.size())};
  if (o.rounds < static_cast<int>(kFewestRounds))
    return Error{Code::kInvalid,
                 cat("rounds: expected at least ", kFewestRounds, ", found ", o.rounds)};
  std::set<std::string> seen = {kNull};
  for (const std::string& name : o.arms) {
    if (!seen.insert(name).second)
      return Error{Code::kInvalid, cat("rounds: arm ", name, ": expected a name of its own")};
  }
  return Ok{};
}

}  // namespace

std::vector<int> round_order(int arms, int round) {
  const int all = arms + 1;
  std::vector<int> order(all);
  for (int i = 0; i < all; i++) order[i] = (round / 2 + i) % all;
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<Metric> RoundsResult::metrics(const RoundsOptions& o, const std::string& unit) const {
  std::vector<Metric> m;
  for (size_t i = 0; i < samples.size(); i++)
    m.push_back({i < o.arms.size() ? o.arms[i] : kNull, unit, samples[i]});
  return m;
}

json::array RoundsResult::to_json(const RoundsOptions& o) const {
  json::array all;
  for (size_t i = 0; i < comparisons.size(); i++) {
    const Comparison& c = comparisons[i];
    json::array pairs;
    for (const double p : c.pairs) pairs.emplace_back(p);
    all.push_back({{"arm", o.arms[i + 1]},
                   {"base", o.arms[0]},
                   {"ratio", c.ratio},
                   {"null_ratio", c.null_ratio},
                   {"null_range", json::array{c.low, c.high}},
                   {"resolved", c.resolved},
                   {"pairs", std::move(pairs)}});
  }
  return all;
}

Result<RoundsResult> run_rounds(const RoundsOptions& o,
                                const std::function<Result<double>(int arm)>& measure,
                                const std::function<bool(const RoundsProgress&)>& on_progress) {
  TRY_OK(check(o));
  const int arms = static_cast<int>(o.arms.size()), all = arms + 1;
  RoundsResult r;
  r.samples.resize(static_cast<size_t>(all));
  RoundsProgress progress = {.total = all * (o.rounds + 1)};
  const auto start = std::chrono::steady_clock::now();
  // False: stop.
  const auto step = [&] {
    progress.done++;
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
    progress.seconds_left = past.count() / progress.done * (progress.total - progress.done);
    return !on_progress || on_progress(progress);
  };
  for (int round = -1; round < o.rounds && !r.interrupted; round++) {
    const std::vector<int> order = round_order(arms, std::max(round, 0));
    std::vector<double> values(static_cast<size_t>(all));
    for (const int arm : order) {
      if (o.cooldown_s > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(o.cooldown_s));
      const Result<double> value = measure(arm == arms ? 0 : arm);
      const bool going = step();
      if (!value && going) return value.error();
      if (value && !(*value > 0)) {
        return Error{Code::kInvalid, cat("rounds: arm ", o.arms[arm == arms ? 0 : arm],
                                         ": expected a number above 0, found ", *value)};
      }
      if (value) values[static_cast<size_t>(arm)] = *value;
      if (!going) {
        r.interrupted = true;
        break;
      }
    }
    if (round < 0 || r.interrupted) continue;
    for (int arm = 0; arm < all; arm++)
      r.samples[static_cast<size_t>(arm)].push_back(values[static_cast<size_t>(arm)]);
    r.order += cat(r.order.empty() ? "" : ", ", letters(order, arms));
  }
  const size_t rounds = r.samples[0].size();
  if (rounds < kFewestRounds) {
    return Error{Code::kCancelled,
                 cat("rounds: expected at least ", kFewestRounds, ", found ", rounds)};
  }
  const auto ratios = [&](int arm) {
    std::vector<double> v;
    for (size_t i = 0; i < rounds; i++)
      v.push_back(r.samples[static_cast<size_t>(arm)][i] / r.samples[0][i]);
    return v;
  };
  const std::vector<double> null = ratios(arms);
  for (int arm = 1; arm < arms; arm++) r.comparisons.push_back(compare(ratios(arm), null));
  return r;
}

}  // namespace mlxcel
