#include "server/api.h"

#include <algorithm>

#include "server/metrics.h"

namespace mlxcel::server {

bool ServedModel::is_named(const std::string& other) const {
  return other == name || std::find(aliases.begin(), aliases.end(), other) != aliases.end();
}

Api::Api(const ServedModel& m, const ApiOptions& o, Service& s)
    : model(m), options(o), service(s), metrics(std::make_unique<Metrics>()), stores(*o.stores) {}

Api::~Api() = default;

SamplingParams Api::defaults() const {
  SamplingParams p = model.defaults;
  options.settings->get().apply(p);
  return p;
}

void Api::begin(std::shared_ptr<Activity> a) {
  const std::lock_guard lock(mutex_);
  if (a->ended) return;
  const auto taken = [&](int32_t slot) {
    return std::any_of(activities_.begin(), activities_.end(),
                       [&](const auto& other) { return other->slot == slot; });
  };
  while (taken(a->slot)) a->slot++;
  activities_.push_back(std::move(a));
}

void Api::end(const std::shared_ptr<Activity>& a) {
  const std::lock_guard lock(mutex_);
  a->ended = true;
  std::erase(activities_, a);
  if (a->slot < options.parallel && !a->tokens.empty())
    slot_tokens_[a->slot] = std::move(a->tokens);
}

std::optional<std::vector<int32_t>> Api::slot_tokens(int32_t slot) const {
  const std::lock_guard lock(mutex_);
  for (const auto& a : activities_)
    if (a->slot == slot) return std::nullopt;
  const auto known = slot_tokens_.find(slot);
  return known == slot_tokens_.end() ? std::vector<int32_t>() : known->second;
}

void Api::set_slot_tokens(int32_t slot, std::vector<int32_t> tokens) {
  const std::lock_guard lock(mutex_);
  slot_tokens_[slot] = std::move(tokens);
}

std::vector<std::shared_ptr<Activity>> Api::activities() const {
  const std::lock_guard lock(mutex_);
  return activities_;
}

}  // namespace mlxcel::server
