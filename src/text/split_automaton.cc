#include "text/split_automaton.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "text/regex.h"
#include "text/split_pattern.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr size_t kMaxStates = 512, kMaxClasses = 200;

// Places in the program, the preferred first: what may come next.
using State = std::vector<uint32_t>;

// All characters of `range` in order, but surrogates.
std::string text_of_all(char32_t range) {
  std::string text;
  text.reserve(size_t{range} * 4);
  for (char32_t c = 0; c < range; c++) {
    if (c < 0xD800 || c >= 0xE000) append_utf8(text, c);
  }
  return text;
}

}  // namespace

// The usual construction of a deterministic automaton, over lists instead of sets of places:
// an earlier place is preferred, as a search that steps back would.
class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(SplitProgram program) : program_(std::move(program)) {}

  std::unique_ptr<SplitAutomaton> build() {
    if (!find_classes()) return nullptr;
    made_->classes_ = members_.size();
    state_number({});   // SplitAutomaton::kDead
    state_number({0});  // kStart
    for (size_t s = 0; s < states_.size(); s++) {
      if (states_.size() > kMaxStates) return nullptr;
      for (size_t c = 0; c <= made_->classes_; c++) made_->next_.push_back(transition(s, c));
    }
    return std::move(made_);
  }

 private:
  // Gives every character the class of those that are in the same sets.
  bool find_classes() {
    const std::string all = text_of_all(SplitAutomaton::kChars);
    std::vector<uint64_t> sets_of(SplitAutomaton::kChars, 0);
    for (size_t i = 0; i < program_.sets.size(); i++) {
      const auto runs = Regex::compile("(?:" + program_.sets[i] + ")++", Regex::Engine::kOniguruma);
      if (!runs) return false;
      const Status found = for_each_match(*runs, all, [&](Match m) {
        for (size_t at = m.begin; at < m.end; at += utf8_size(all[at])) {
          sets_of[decode_utf8(all, at).code] |= uint64_t{1} << i;
        }
      });
      if (!found) return false;
    }
    std::map<uint64_t, uint8_t> numbers;
    made_->class_of_.resize(SplitAutomaton::kChars);
    for (size_t c = 0; c < sets_of.size(); c++) {
      const auto known = numbers.try_emplace(sets_of[c], static_cast<uint8_t>(members_.size()));
      if (known.second) members_.push_back(sets_of[c]);
      if (members_.size() > kMaxClasses) return false;
      made_->class_of_[c] = known.first->second;
    }
    return true;
  }

  bool in_set(uint32_t set, size_t c) const {
    return c < members_.size() && (members_[c] >> set & 1) != 0;
  }

  // What a character of class `c` does in state `s`.
  uint16_t transition(size_t s, size_t c) {
    const State from = states_[s];
    State to;
    bool match = false;
    std::vector<bool> seen(program_.steps.size(), false);
    State work(from.rbegin(), from.rend());
    while (!work.empty() && !match) {
      const uint32_t at = work.back();
      work.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const SplitStep& step = program_.steps[at];
      switch (step.kind) {
        case SplitStep::Kind::kSet:
          if (in_set(step.a, c)) to.push_back(at + 1);
          break;
        case SplitStep::Kind::kFork:
          work.push_back(step.b);
          work.push_back(step.a);
          break;
        case SplitStep::Kind::kAhead:
          if (in_set(step.a, c)) work.push_back(at + 1);
          break;
        case SplitStep::Kind::kNotAhead:
          if (!in_set(step.a, c)) work.push_back(at + 1);
          break;
        case SplitStep::Kind::kMatch:
          match = true;  // whatever is less preferred is given up
          break;
      }
    }
    return static_cast<uint16_t>(state_number(std::move(to)) * 2 + (match ? 1 : 0));
  }

  size_t state_number(State state) {
    const auto known = numbers_.try_emplace(state, states_.size());
    if (known.second) states_.push_back(std::move(state));
    return known.first->second;
  }

  SplitProgram program_;
  std::unique_ptr<SplitAutomaton> made_ = std::make_unique<SplitAutomaton>();
  std::vector<uint64_t> members_;  // of a class: the sets that it is in
  std::vector<State> states_;
  std::map<State, size_t> numbers_;
};

std::unique_ptr<SplitAutomaton> SplitAutomaton::compile(std::string_view pattern) {
  auto program = split_program(pattern);
  return program ? AutomatonBuilder(std::move(*program)).build() : nullptr;
}

SplitAutomaton::Found SplitAutomaton::match(std::string_view text, size_t at) const {
  size_t state = kStart, end = kNone;
  const size_t columns = classes_ + 1;
  for (;;) {
    size_t c = classes_, size = 1;
    if (at < text.size()) {
      const auto byte = static_cast<uint8_t>(text[at]);
      if (byte < 0x80) {
        c = class_of_[byte];
      } else {
        const Utf8Char decoded = decode_utf8(text, at);
        if (decoded.code >= kChars) return {kUnknown, at};
        c = class_of_[decoded.code];
        size = decoded.size;
      }
    }
    const uint16_t next = next_[state * columns + c];
    if (next & 1) end = at;
    state = next >> 1;
    if (state == kDead || at >= text.size()) return {end, at};
    at += size;
  }
}

}  // namespace mlxcel
