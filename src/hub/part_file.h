// A file that grows while it is downloaded: "NAME.part", hashed as it comes, and NAME once it is
// whole and right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hub/content_hash.h"

namespace mlxcel {

class PartFile {
 public:
  // Goes on where an earlier one ended: reads and hashes what is there.
  static Result<PartFile> open(const std::string& final_path, FileFacts facts);
  PartFile(PartFile&& o) noexcept;
  ~PartFile();

  int64_t size() const { return size_; }
  const FileFacts& facts() const { return facts_; }
  Status restart();                // empty again
  Status expect(FileFacts facts);  // if they were not known; nothing may be written yet
  Status append(std::string_view bytes);
  // Compares size and hash, then gives the file its name. kCorrupt if they differ.
  Status finish();

 private:
  PartFile() = default;
  Error cannot_be_written() const;

  std::string path_, part_;
  FileFacts facts_;
  int fd_ = -1;
  int64_t size_ = 0;
  ContentHash hash_ = ContentHash({});
};

}  // namespace mlxcel
