// What a person sees of a download, on stderr: one line that moves on a terminal, now and then a
// line in a log.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <string>

#include "hub/download.h"

namespace mlxcel {

class DownloadBar {
 public:
  DownloadBar(std::string what, bool quiet);
  ~DownloadBar();
  DownloadBar(const DownloadBar&) = delete;

  void progress(const DownloadProgress& p);
  void note(const std::string& text);  // from any thread

 private:
  using Time = std::chrono::steady_clock::time_point;
  double speed(const DownloadProgress& p, Time now);  // bytes a second, of the last seconds
  void clear();

  std::string what_;
  bool quiet_, terminal_, drawn_ = false, begun_ = false;
  std::deque<std::pair<Time, int64_t>> received_;
  Time last_line_;
  std::mutex mutex_;
};

// "3 min left"; "" if it cannot be said.
std::string time_left(int64_t bytes, double speed);

}  // namespace mlxcel
