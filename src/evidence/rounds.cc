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
                   {"ratio_range", json::array{c.ratio_low, c.ratio_high}},
                   {"null_ratio", c.null_ratio},
                   {"null_range", json::array{c.low, c.high}},
                   {"resolved", c.resolved},
                   {"pairs", std::move(pairs)}});
  }
  return all;
}

json::object RoundsResult::runs_json(const RoundsOptions& o) const {
  json::object all;
  for (size_t i = 0; i < runs.size(); i++)
    all[i < o.arms.size() ? o.arms[i] : kNull] = json::array(runs[i].begin(), runs[i].end());
  return all;
}

namespace {

class Protocol {
 public:
  Protocol(const RoundsOptions& o, const std::function<Result<double>(int)>& measure,
           const std::function<bool(const RoundsProgress&)>& on_progress)
      : o_(o), measure_(measure), on_progress_(on_progress) {
    progress_.total = all_ * (o.rounds * o.repeat + 1);
    r_.samples.resize(static_cast<size_t>(all_)), r_.runs.resize(static_cast<size_t>(all_));
  }

  Result<RoundsResult> run() {
    for (int round = -1; round < o_.rounds && !r_.interrupted; round++) TRY_OK(one(round));
    const size_t rounds = r_.samples[0].size();
    if (rounds < kFewestRounds) {
      return Error{Code::kCancelled,
                   cat("rounds: expected at least ", kFewestRounds, ", found ", rounds)};
    }
    const std::vector<double> null = ratios(arms_);
    for (int arm = 1; arm < arms_; arm++) r_.comparisons.push_back(compare(ratios(arm), null));
    return std::move(r_);
  }

 private:
  // Counts only if it ends.
  Status one(int round) {
    const std::vector<int> order = round_order(arms_, std::max(round, 0));
    std::vector<std::vector<double>> runs(static_cast<size_t>(all_));
    for (const int arm : order) {
      TRY(runs[static_cast<size_t>(arm)], visit(arm, round < 0 ? 1 : o_.repeat));
      if (r_.interrupted) return Ok{};
    }
    if (round < 0) return Ok{};
    for (size_t arm = 0; arm < runs.size(); arm++) {
      r_.samples[arm].push_back(median(runs[arm]));
      r_.runs[arm].insert(r_.runs[arm].end(), runs[arm].begin(), runs[arm].end());
    }
    r_.order += cat(r_.order.empty() ? "" : ", ", letters(order, arms_));
    return Ok{};
  }

  Result<std::vector<double>> visit(int arm, int times) {
    const int program = arm == arms_ ? 0 : arm;
    std::vector<double> values;
    for (int i = 0; i < times && !r_.interrupted; i++) {
      if (o_.cooldown_s > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(o_.cooldown_s));
      const Result<double> value = measure_(program);
      r_.interrupted = !step();
      if (!value && !r_.interrupted) return value.error();
      if (value && !(*value > 0)) {
        return Error{Code::kInvalid, cat("rounds: arm ", o_.arms[static_cast<size_t>(program)],
                                         ": expected a number above 0, found ", *value)};
      }
      if (value) values.push_back(*value);
    }
    return values;
  }

  // False: stop.
  bool step() {
    progress_.done++;
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start_;
    progress_.seconds_left = past.count() / progress_.done * (progress_.total - progress_.done);
    return !on_progress_ || on_progress_(progress_);
  }

  std::vector<double> ratios(int arm) const {
    std::vector<double> v;
    for (size_t i = 0; i < r_.samples[0].size(); i++)
      v.push_back(r_.samples[static_cast<size_t>(arm)][i] / r_.samples[0][i]);
    return v;
  }

  const RoundsOptions& o_;
  const std::function<Result<double>(int)>& measure_;
  const std::function<bool(const RoundsProgress&)>& on_progress_;
  const int arms_ = static_cast<int>(o_.arms.size()), all_ = arms_ + 1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  RoundsProgress progress_;
  RoundsResult r_;
};

}  // namespace

Result<RoundsResult> run_rounds(const RoundsOptions& options,
                                const std::function<Result<double>(int arm)>& measure,
                                const std::function<bool(const RoundsProgress&)>& on_progress) {
  TRY_OK(check(options));
  return Protocol(options, measure, on_progress).run();
}

}  // namespace mlxcel
