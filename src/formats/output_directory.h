// OutputDirectory: a directory that appears under its name only when everything in it is complete.
//
// Files go to "NAME.partial-PID" beside it; commit() renames. Without a commit it is removed.
#pragma once

#include <string>

#include "base/result.h"

namespace mlxcel {

class OutputDirectory {
 public:
  // An error if `path` exists.
  static Result<OutputDirectory> create(const std::string& path);

  OutputDirectory(OutputDirectory&& other) noexcept { swap(other); }
  OutputDirectory& operator=(OutputDirectory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~OutputDirectory();

  const std::string& partial() const { return partial_; }  // where to write
  std::string file(std::string_view name) const;

  Status commit();

 private:
  OutputDirectory() = default;
  void swap(OutputDirectory& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(partial_, other.partial_);
  }

  std::string path_, partial_;  // partial_ is empty once committed
};

}  // namespace mlxcel
