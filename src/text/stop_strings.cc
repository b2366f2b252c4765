#include "text/stop_strings.h"

#include <utility>

namespace mlxcel {

StopStrings::StopStrings(const std::vector<std::string>& stops) : states_(1) {
  for (size_t i = 0; i < stops.size(); i++) add(stops[i], static_cast<int>(i));
  link();
}

uint32_t StopStrings::child(uint32_t state, uint8_t byte) const {
  for (const auto& [on, next] : states_[state].next) {
    if (on == byte) return next;
  }
  return 0;
}

void StopStrings::add(const std::string& stop, int index) {
  if (stop.empty()) return;
  uint32_t state = 0;
  for (const char c : stop) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = child(state, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(states_.size());
      states_[state].next.push_back({byte, next});
      states_.push_back({});
      states_.back().depth = states_[state].depth + 1;
    }
    state = next;
  }
  if (states_[state].match < 0) states_[state].match = index;
}

// Breadth first: the shorter ends of a state are known before it.
void StopStrings::link() {
  std::vector<uint32_t> order{0};
  for (size_t i = 0; i < order.size(); i++) {
    const uint32_t state = order[i];
    for (const auto& [byte, next] : states_[state].next) {
      order.push_back(next);
      const uint32_t shorter = state == 0 ? 0 : step(states_[state].shorter, byte);
      states_[next].shorter = shorter;
      if (states_[next].match < 0) states_[next].match = states_[shorter].match;
    }
  }
}

uint32_t StopStrings::step(uint32_t state, uint8_t byte) const {
  for (;;) {
    if (const uint32_t next = child(state, byte)) return next;
    if (state == 0) return 0;
    state = states_[state].shorter;
  }
}

std::string StopStrings::push(std::string_view text) {
  if (stopped()) return "";
  const size_t before = held_.size();
  held_ += text;
  for (size_t i = 0; i < text.size(); i++) {
    state_ = step(state_, static_cast<uint8_t>(text[i]));
    if (states_[state_].match < 0) continue;
    match_ = states_[state_].match;
    size_t size = 0;  // of the match: the depth of the state that first had it
    for (uint32_t s = state_; s != 0 && states_[s].match == match_; s = states_[s].shorter) {
      size = states_[s].depth;
    }
    held_.resize(before + i + 1 - size);
    return std::exchange(held_, "");
  }
  std::string shown = held_.substr(0, held_.size() - states_[state_].depth);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::flush() {
  state_ = 0;
  return std::exchange(held_, "");
}

}  // namespace mlxcel
