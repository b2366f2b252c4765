#include "formats/output_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/cat.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

Error system_error(const std::string& path, std::string_view what) {
  return {Code::kIo, cat(path, ": cannot ", what, ": ", std::generic_category().message(errno))};
}

void sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Result<OutputDirectory> OutputDirectory::create(const std::string& path) {
  OutputDirectory made;
  made.path_ = path;
  while (made.path_.size() > 1 && made.path_.ends_with('/')) made.path_.pop_back();
  std::error_code error;
  if (made.path_.empty() || fs::exists(fs::symlink_status(made.path_, error))) {
    return Error{Code::kInvalid, cat(path, ": expected a path where nothing is yet, found ",
                                     path.empty() ? "an empty one" : "that it exists")};
  }
  const std::string partial = cat(made.path_, ".partial-", static_cast<int64_t>(getpid()));
  if (mkdir(partial.c_str(), 0755) != 0) return system_error(partial, "create");
  made.partial_ = partial;
  return made;
}

OutputDirectory::~OutputDirectory() {
  std::error_code error;
  if (!partial_.empty()) fs::remove_all(partial_, error);
}

std::string OutputDirectory::file(std::string_view name) const {
  return (fs::path(partial_) / name).string();
}

Status OutputDirectory::commit() {
  CHECK(!partial_.empty());
  sync_directory(partial_);
  // A directory is never renamed over a file or over one that holds files.
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) return system_error(path_, "create");
  partial_.clear();
  const std::string parent = fs::path(path_).parent_path().string();
  sync_directory(parent.empty() ? "." : parent);
  return Ok{};
}

}  // namespace mlxcel
