#include "evidence/history.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/cat.h"
#include "evidence/calendar.h"
#include "evidence/equal.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

// Seconds since 1970 of "2026-11-30T12:00:00Z".
std::optional<int64_t> seconds_of(std::string_view time) {
  if (time.size() != 20) return std::nullopt;
  const auto day = day_number(time.substr(0, 10));
  int64_t part[3] = {};
  for (int i = 0; i < 3; i++) {
    const char* begin = time.data() + 11 + 3 * i;
    if (std::from_chars(begin, begin + 2, part[i]).ptr != begin + 2) return std::nullopt;
  }
  if (!day) return std::nullopt;
  return *day * int64_t{86400} + part[0] * 3600 + part[1] * 60 + part[2];
}

class History {
 public:
  explicit History(const std::string& root)
      : git_(cat("git -C ", shell_quoted(root), " ")),
        here_(std::filesystem::exists(std::filesystem::path(root) / ".git")) {}

  // Why the history says nothing; "": it is whole.
  Result<std::string> gap() const {
    if (!here_) return std::string("this is no git checkout");
    TRY(const ProcessResult shallow,
        run_process(cat(git_, "rev-parse --is-shallow-repository 2>/dev/null")));
    if (shallow.status != 0) return std::string("git cannot read this checkout");
    return shallow.output.starts_with("true") ? std::string("this clone is shallow")
                                              : std::string();
  }

  // When its first commit was made. A history that was cut or written anew begins late.
  Result<int64_t> begin() const {
    TRY(const ProcessResult roots, run_process(cat(git_, "log --max-parents=0 --format=%ct HEAD")));
    std::istringstream lines(roots.output);
    int64_t first = INT64_MAX;
    for (int64_t t = 0; lines >> t;) first = std::min(first, t);
    if (roots.status != 0 || first == INT64_MAX)
      return Error{Code::kIo, "git log: expected a first commit, found none"};
    return first;
  }

  Result<bool> holds(const std::string& commit) {
    if (const auto known = known_.find(commit); known != known_.end()) return known->second;
    TRY(const ProcessResult r, run_process(cat(git_, "merge-base --is-ancestor ",
                                               shell_quoted(commit), " HEAD 2>/dev/null")));
    return known_[commit] = r.status == 0;
  }

 private:
  const std::string git_;
  const bool here_;
  std::map<std::string, bool> known_;
};

}  // namespace

Result<HistoryCheck> check_history(const std::string& root, const RecordStore& store) {
  HistoryCheck c;
  if (store.records.empty()) return c;
  History history(root);
  TRY(const std::string gap, history.gap());
  if (!gap.empty()) {
    c.notes.push_back(cat(gap, ": the commits of the records were not looked up"));
    return c;
  }
  TRY(const int64_t begin, history.begin());
  int older = 0;
  for (const StoredRecord& r : store.records) {
    std::string commit(r.content.at("program").at("mlxcel_commit").get_string());
    if (commit.ends_with("-dirty")) commit.resize(commit.size() - 6);
    const auto time = seconds_of(std::string_view(r.content.at("time").get_string()));
    TRY(const bool held, history.holds(commit));
    if (held) continue;
    if (time && *time < begin) {
      older++;
    } else {
      c.problems.push_back(cat(r.name,
                               ": program.mlxcel_commit: expected a commit of this history, "
                               "found ",
                               commit));
    }
  }
  if (older > 0)
    c.notes.push_back(
        cat(older, " records are older than this history: their commits are not in it"));
  return c;
}

}  // namespace mlxcel
