// MappedFile: a regular file, read-only in memory. Parsers see bytes; nothing is copied.
//
// A file that is cut by someone else while it is mapped raises SIGBUS: checkpoints are not edited
// in place (our own writers rename a finished file over the old one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mlxcel {

class MappedFile {
 public:
  // Any path but a regular file (a directory, a FIFO, a broken link) is an error and never blocks.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }  // stable under moves
  size_t size() const { return size_; }

  enum class Access { kNormal, kSequential, kRandom, kWillNeed, kDontNeed };
  // A hint for the pages that hold [offset, offset + length); outside the file it does nothing.
  void advise(Access access, size_t offset = 0, size_t length = SIZE_MAX) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::string path_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// A small text file (config.json, an index) as a string; more than `limit` bytes are an error.
Result<std::string> read_text_file(const std::string& path, size_t limit);

// `text` between quotes, for messages: control bytes escaped, long texts cut.
std::string in_quotes(std::string_view text);

}  // namespace mlxcel
