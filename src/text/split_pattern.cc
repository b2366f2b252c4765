#include "text/split_pattern.h"

#include <algorithm>
#include <charconv>

#include "text/utf8.h"

namespace mlxcel {
namespace {

using Kind = SplitStep::Kind;

constexpr size_t kMaxSteps = 600, kMaxSets = 64, kMaxDepth = 16;
constexpr uint32_t kMaxCount = 16;  // of {m,n}

// Two letters that Unicode folds from one ("ss" from U+00DF): without regard to case Oniguruma
// takes that one for both.
bool folds_together(std::string_view text) {
  for (const char* pair : {"ss", "st", "ff", "fi", "fl"}) {
    const auto equal = [](char a, char b) { return (a | 0x20) == b; };
    if (std::search(text.begin(), text.end(), pair, pair + 2, equal) != text.end()) return true;
  }
  return false;
}

bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// Writes steps while it reads. Each read_* is false at something unknown.
class Reader {
 public:
  explicit Reader(std::string_view pattern) : s_(pattern) {}

  std::optional<SplitProgram> run() {
    if (!read_alternatives() || at_ != s_.size() || out_.steps.size() > kMaxSteps) return {};
    add({Kind::kMatch});
    return std::move(out_);
  }

 private:
  // A repeated set: min times, then up to max times (or for ever).
  struct Count {
    uint32_t min = 1, max = 1;
    bool endless = false;
  };

  bool take(std::string_view word) {
    if (!s_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  uint32_t here() const { return static_cast<uint32_t>(out_.steps.size()); }
  void add(SplitStep step) { out_.steps.push_back(step); }

  // a|b|c: fork(a, fork(b, c)), each but the last followed by a jump behind all.
  bool read_alternatives() {
    if (++depth_ > kMaxDepth) return false;
    std::vector<uint32_t> jumps;
    for (;;) {
      const uint32_t fork = here();
      add({Kind::kFork, fork + 1, fork + 1});
      if (!read_sequence()) return false;
      if (!take("|")) break;
      jumps.push_back(here());
      add({Kind::kFork});
      out_.steps[fork].b = here();
    }
    for (const uint32_t jump : jumps) out_.steps[jump].a = out_.steps[jump].b = here();
    depth_--;
    return true;
  }

  bool read_sequence() {
    while (at_ < s_.size() && s_[at_] != '|' && s_[at_] != ')') {
      if (out_.steps.size() > kMaxSteps || !(s_[at_] == '(' ? read_group() : read_set()))
        return false;
    }
    return true;
  }

  bool read_group() {
    at_++;
    if (take("?!")) return read_ahead(Kind::kNotAhead);
    if (take("?=")) return read_ahead(Kind::kAhead);
    const bool outer = ignore_case_;
    if (take("?i:")) {
      ignore_case_ = true;
      if (folds_together(s_.substr(at_, s_.find(')', at_) - at_))) return false;
    } else if (!take("?:") && at_ < s_.size() && s_[at_] == '?') {
      return false;
    }
    const uint32_t fork = here();
    add({Kind::kFork, fork + 1, fork + 1});
    if (!read_alternatives() || !take(")")) return false;
    ignore_case_ = outer;
    if (at_ < s_.size() && (s_[at_] == '*' || s_[at_] == '+' || s_[at_] == '{')) return false;
    if (take("?")) out_.steps[fork].b = here();
    return !at_quantifier();
  }

  bool read_ahead(Kind kind) {
    const auto set = read_one();
    if (!set || !take(")")) return false;
    add({kind, *set});
    return !at_quantifier();
  }

  bool read_set() {
    const auto set = read_one();
    if (!set) return false;
    const auto count = read_count();
    if (!count || at_quantifier()) return false;
    for (uint32_t i = 0; i < count->min; i++) add({Kind::kSet, *set});
    if (count->endless) {
      const uint32_t fork = here();
      add({Kind::kFork, fork + 1, fork + 3});
      add({Kind::kSet, *set});
      add({Kind::kFork, fork, fork});
    }
    const uint32_t end = here() + 2 * (count->max - count->min);
    for (uint32_t i = count->min; i < count->max; i++) {
      add({Kind::kFork, here() + 1, end});
      add({Kind::kSet, *set});
    }
    return true;
  }

  std::optional<Count> read_count() {
    if (take("?")) return Count{0, 1, false};
    if (take("*")) return Count{0, 0, true};
    if (take("+")) return Count{1, 1, true};
    if (!take("{")) return Count{};
    const size_t end = s_.find('}', at_);
    if (end == s_.npos) return std::nullopt;
    const char* stop = s_.data() + end;
    Count count;
    auto read = std::from_chars(s_.data() + at_, stop, count.min);
    if (read.ec != std::errc()) return std::nullopt;
    count.max = count.min;
    if (read.ptr != stop && *read.ptr == ',') {
      count.endless = read.ptr + 1 == stop;
      if (!count.endless) read = std::from_chars(read.ptr + 1, stop, count.max);
      if (count.endless) read.ptr = stop;
    }
    if (read.ec != std::errc() || read.ptr != stop) return std::nullopt;
    if (count.min > count.max || count.max > kMaxCount) return std::nullopt;
    at_ = end + 1;
    return count;
  }

  // A second one makes the first lazy or possessive.
  bool at_quantifier() const {
    return at_ < s_.size() && std::string_view("?*+{").find(s_[at_]) != std::string_view::npos;
  }

  // What stands for one character: its set's number.
  std::optional<uint32_t> read_one() {
    if (at_ >= s_.size()) return std::nullopt;
    const size_t begin = at_;
    const char c = s_[at_];
    if (ignore_case_) {
      if (!is_letter(c) && c != '\'') return std::nullopt;
      at_++;
      return number_of("(?i:" + std::string(1, c) + ")");
    }
    if (c == '[') {
      if (!skip_class()) return std::nullopt;
    } else if (c == '\\') {
      if (!skip_escape()) return std::nullopt;
    } else if (std::string_view("().^$*+?{}]|").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      at_ += utf8_size(c);
    }
    return number_of(std::string(s_.substr(begin, at_ - begin)));
  }

  bool skip_class() {
    size_t depth = 0;
    for (; at_ < s_.size(); at_++) {
      if (s_[at_] == '\\') {
        at_++;
      } else if (s_[at_] == '[') {
        const size_t first = at_ + (s_.substr(at_ + 1).starts_with('^') ? 2 : 1);
        if (first < s_.size() && s_[first] == ']') return false;
        depth++;
      } else if (s_[at_] == ']' && --depth == 0) {
        at_++;
        return true;
      }
    }
    return false;
  }

  bool skip_escape() {
    const char c = at_ + 1 < s_.size() ? s_[at_ + 1] : 'A';
    at_ += 2;
    const bool braced = c == 'p' || c == 'P' || c == 'x';
    if (braced) {
      const size_t end = s_.find('}', at_);
      if (!take("{") || end == s_.npos) return false;
      at_ = end + 1;
      return s_.substr(0, end).find(' ', at_) == s_.npos;
    }
    if (std::string_view("sSdDwWrntf").find(c) != std::string_view::npos) return true;
    return c > ' ' && c < 0x7F && !is_letter(c) && !(c >= '0' && c <= '9');
  }

  std::optional<uint32_t> number_of(std::string set) {
    const auto found = std::find(out_.sets.begin(), out_.sets.end(), set);
    const auto number = static_cast<uint32_t>(found - out_.sets.begin());
    if (found == out_.sets.end()) {
      if (out_.sets.size() == kMaxSets) return std::nullopt;
      out_.sets.push_back(std::move(set));
    }
    return number;
  }

  std::string_view s_;
  size_t at_ = 0, depth_ = 0;
  bool ignore_case_ = false;
  SplitProgram out_;
};

}  // namespace

std::optional<SplitProgram> split_program(std::string_view pattern) {
  return Reader(pattern).run();
}

}  // namespace mlxcel
