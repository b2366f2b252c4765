// OutputFile: a file that appears under its name only when it is complete.
//
// Bytes go to "NAME.partial-PID" in the same directory; commit() flushes them to the disk and
// renames. Without a commit the partial file is removed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mlxcel {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept { swap(other); }
  OutputFile& operator=(OutputFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~OutputFile();

  Status write(std::span<const uint8_t> bytes);
  Status write(std::string_view text) {
    return write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  Status write_zeros(uint64_t count);
  uint64_t size() const { return size_; }  // bytes written so far
  const std::string& path() const { return path_; }

  Status commit();

 private:
  OutputFile() = default;
  void swap(OutputFile& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(partial_, other.partial_);
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
  }

  std::string path_, partial_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace mlxcel
