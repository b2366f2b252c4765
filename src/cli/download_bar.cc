#include "cli/download_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/cat.h"
#include "cli/arguments.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

using namespace std::chrono_literals;

size_t terminal_width() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(int64_t done, int64_t total, size_t width) {
  const auto filled = static_cast<size_t>(static_cast<double>(width) * static_cast<double>(done) /
                                          static_cast<double>(total));
  return std::string(std::min(filled, width), '#') +
         std::string(width - std::min(filled, width), '.');
}

}  // namespace

std::string time_left(int64_t bytes, double speed) {
  constexpr double kLongest = 360000;  // 100 hours say nothing
  if (speed <= 0 || static_cast<double>(bytes) / speed > kLongest) return {};
  const auto seconds = static_cast<int64_t>(std::llround(static_cast<double>(bytes) / speed));
  if (seconds < 60) return cat(seconds, " s left");
  if (seconds < 3600) return cat(seconds / 60, " min left");
  return cat(seconds / 3600, " h ", seconds / 60 % 60, " min left");
}

DownloadBar::DownloadBar(std::string what, bool quiet)
    : what_(std::move(what)), quiet_(quiet), terminal_(is_terminal(STDERR_FILENO)) {}

DownloadBar::~DownloadBar() { clear(); }

void DownloadBar::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

double DownloadBar::speed(const DownloadProgress& p, Time now) {
  constexpr auto kWindow = 5s;
  received_.emplace_back(now, p.received);
  while (received_.size() > 2 && now - received_.front().first > kWindow) received_.pop_front();
  const double seconds = std::chrono::duration<double>(now - received_.front().first).count();
  return seconds > 0 ? static_cast<double>(p.received - received_.front().second) / seconds : 0;
}

void DownloadBar::progress(const DownloadProgress& p) {
  if (quiet_ || p.total == 0) return;
  const std::lock_guard lock(mutex_);
  const Time now = std::chrono::steady_clock::now();
  const double s = speed(p, now);
  if (!begun_) {
    clear();
    std::fprintf(stderr, "downloading %s: %s in %d file%s%s\n", what_.c_str(),
                 readable_size(p.total).c_str(), p.files, p.files == 1 ? "" : "s",
                 p.done > 0 ? cat(", ", readable_size(p.done), " are here").c_str() : "");
    begun_ = true, last_line_ = now;
  }
  const std::string left = time_left(p.total - p.done, s);
  const std::string figures = cat(
      " ", p.done * 100 / p.total, " %, ", readable_size(p.done), " of ", readable_size(p.total),
      ", ", readable_size(static_cast<int64_t>(s)), "/s", left.empty() ? "" : ", ", left);
  if (!terminal_) {
    if (now - last_line_ < 10s) return;
    last_line_ = now;
    std::fprintf(stderr, "%s:%s\n", what_.c_str(), figures.c_str());
    return;
  }
  constexpr size_t kBar = 24;
  const size_t width = terminal_width();
  std::string line = figures;
  if (line.size() + kBar + 3 < width) line = cat("[", bar(p.done, p.total, kBar), "]", line);
  if (line.size() + p.current.size() + 4 < width) line += cat("  ", p.current);
  std::fprintf(stderr, "\r%s\033[K", line.substr(0, width - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void DownloadBar::note(const std::string& text) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace mlxcel
