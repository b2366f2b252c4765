#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/cat.h"
#include "cli/arguments.h"
#include "evidence/sweep.h"

namespace mlxcel {

void ProgressLine::show(const std::string& what, int64_t done, int64_t total) {
  if (!is_terminal(STDERR_FILENO)) return;
  const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start_;
  const double left =
      done > 0 ? past.count() / static_cast<double>(done) * static_cast<double>(total - done) : 0;
  std::fprintf(stderr, "\r\033[K%s %lld of %lld%s", what.c_str(), static_cast<long long>(done),
               static_cast<long long>(total),
               done > 0 ? cat(", ", minutes_text(left), " left").c_str() : "");
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace mlxcel
