#include "formats/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/cat.h"

namespace mlxcel {
namespace {

Error system_error(const std::string& path, std::string_view what) {
  return {Code::kIo, cat(path, ": cannot ", what, ": ", std::generic_category().message(errno))};
}

// A rename lasts through a power cut only once its directory is on the disk.
void sync_directory(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  file.partial_ = cat(path, ".partial-", static_cast<int64_t>(getpid()));
  file.fd_ = ::open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.fd_ < 0) return system_error(file.partial_, "create");
  return file;
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(partial_.c_str());
}

Status OutputFile::write(std::span<const uint8_t> bytes) {
  CHECK(fd_ >= 0);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(partial_, cat("write ", bytes.size(), " bytes"));
    bytes = bytes.subspan(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
  return Ok{};
}

Status OutputFile::write_zeros(uint64_t count) {
  static constexpr uint8_t kZeros[4096] = {};
  while (count > 0) {
    const uint64_t n = std::min<uint64_t>(count, sizeof kZeros);
    TRY_OK(write(std::span(kZeros, n)));
    count -= n;
  }
  return Ok{};
}

Status OutputFile::commit() {
  CHECK(fd_ >= 0);
  if (fsync(fd_) != 0) return system_error(partial_, "flush");
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const Error error = system_error(path_, "replace");
    unlink(partial_.c_str());
    return error;
  }
  sync_directory(path_);
  return Ok{};
}

}  // namespace mlxcel
