#include "sampling/penalties.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace mlxcel {

PenaltyState::PenaltyState(const SamplingParams& params, std::span<const int32_t> prompt)
    : params_(params), prompt_(prompt.size()) {
  if (idle()) return;
  history_.reserve(prompt.size() + 256);
  for (const int32_t token : prompt) enter(token, false);
}

bool PenaltyState::counting() const {
  return params_.repetition_penalty != 1 || params_.presence_penalty != 0 ||
         params_.frequency_penalty != 0;
}

bool PenaltyState::idle() const { return !counting() && params_.dry_multiplier == 0; }

size_t PenaltyState::window() const {
  return params_.repeat_last_n < 0 ? std::numeric_limits<size_t>::max()
                                   : static_cast<size_t>(params_.repeat_last_n);
}

PenaltyState::Count& PenaltyState::count(int32_t token) {
  auto at = std::lower_bound(counts_.begin(), counts_.end(), token,
                             [](const Count& c, int32_t t) { return c.token < t; });
  if (at == counts_.end() || at->token != token) at = counts_.insert(at, {token, 0, 0});
  return *at;
}

void PenaltyState::drop_zero(int32_t token) {
  const auto at = std::lower_bound(counts_.begin(), counts_.end(), token,
                                   [](const Count& c, int32_t t) { return c.token < t; });
  if (at->in_window == 0 && at->drawn == 0) counts_.erase(at);
}

void PenaltyState::enter(int32_t token, bool drawn) {
  history_.push_back(token);
  if (!counting()) return;
  Count& c = count(token);
  c.in_window++;
  c.drawn += drawn;
  if (history_.size() > window()) {
    const int32_t leaving = history_[history_.size() - 1 - window()];
    count(leaving).in_window--;
    drop_zero(leaving);
  }
}

void PenaltyState::push(int32_t token) {
  if (!idle()) enter(token, true);
}

void PenaltyState::pop(int32_t tokens) {
  if (idle()) return;
  CHECK(tokens >= 0 && history_.size() - prompt_ >= static_cast<size_t>(tokens));
  for (; tokens > 0; tokens--) {
    const int32_t token = history_.back();
    if (counting()) {
      if (history_.size() > window()) count(history_[history_.size() - 1 - window()]).in_window++;
      Count& c = count(token);
      c.in_window--;
      c.drawn--;
      drop_zero(token);
    }
    history_.pop_back();
  }
}

void PenaltyState::edits(std::vector<LogitEdit>& out) {
  dry_.penalties(params_, history_, dry_penalties_);
  auto c = counts_.begin();
  auto d = dry_penalties_.begin();
  auto b = params_.logit_bias.begin();
  constexpr int32_t kEnd = std::numeric_limits<int32_t>::max();
  for (;;) {  // a merge of three ascending lists
    const int32_t ct = c != counts_.end() ? c->token : kEnd;
    const int32_t dt = d != dry_penalties_.end() ? d->token : kEnd;
    const int32_t bt = b != params_.logit_bias.end() ? b->first : kEnd;
    const int32_t token = std::min({ct, dt, bt});
    if (token == kEnd) return;
    LogitEdit edit{token, 1, 0};
    if (ct == token) {
      if (c->in_window > 0) edit.repeat = params_.repetition_penalty;
      if (c->drawn > 0) {
        edit.add -=
            params_.presence_penalty + static_cast<float>(c->drawn) * params_.frequency_penalty;
      }
      ++c;
    }
    if (dt == token) edit.add -= d++->penalty;
    if (bt == token) edit.add += b++->second;
    if (edit.repeat != 1 || edit.add != 0) out.push_back(edit);
  }
}

}  // namespace mlxcel
