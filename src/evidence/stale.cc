#include "evidence/stale.h"

#include <filesystem>
#include <sstream>

#include "base/cat.h"
#include "evidence/equal.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

fs::path checkout_of(const fs::path& program) {
  std::error_code error;
  for (fs::path p = program.parent_path(); p.has_relative_path(); p = p.parent_path()) {
    if (fs::exists(p / ".git", error) && fs::exists(p / "src" / "evidence", error)) return p;
  }
  return {};
}

}  // namespace

Result<std::string> stale_reason(const std::string& program, const std::string& commit) {
  std::error_code error;
  const fs::path file = fs::canonical(program, error);
  if (error) return Error{Code::kIo, cat(program, ": ", error.message())};
  const fs::path root = checkout_of(file);
  if (root.empty()) return std::string();
  const bool dirty = commit.ends_with("-dirty");
  const std::string base = dirty ? commit.substr(0, commit.size() - 6) : commit;
  const std::string git = cat("git -C ", shell_quoted(root.string()), " ");
  TRY(const ProcessResult known,
      run_process(cat(git, "cat-file -e ", shell_quoted(base), "^{commit} 2>/dev/null")));
  if (known.status != 0)
    return cat("it was built from ", commit, ", which is not in this checkout");
  const std::string what = " -- src include cmake CMakeLists.txt";
  TRY(const ProcessResult changed,
      run_process(cat(git, "diff --name-only ", base, what, " && ", git,
                      "ls-files --others --exclude-standard", what)));
  if (changed.status != 0)
    return Error{Code::kIo, cat(root.string(), ": git diff: exit status ", changed.status)};
  const auto built = fs::last_write_time(file, error);
  std::istringstream names(changed.output);
  for (std::string name; std::getline(names, name);) {
    const auto edited = fs::last_write_time(root / name, error);
    // A file that is gone has no time: it counts as an edit that a -dirty program may hold.
    if (!dirty || (!error && edited > built))
      return cat("it was built from ", commit, ", and ", name, " has changed since");
  }
  return std::string();
}

}  // namespace mlxcel
