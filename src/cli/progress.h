// A line on standard error while something long runs: how much is done, and the time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mlxcel {

// Writes only where a person sees it.
class ProgressLine {
 public:
  // "case 2 of 5, 0:12 left". The time left is that of `done` parts since this was made, for those
  // that are missing.
  void show(const std::string& what, int64_t done, int64_t total);
  void clear();  // before something else is printed
  ~ProgressLine() { clear(); }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool shown_ = false;
};

}  // namespace mlxcel
