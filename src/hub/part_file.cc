#include "hub/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr size_t kBlock = 1 << 20;

}  // namespace

PartFile::PartFile(PartFile&& o) noexcept
    : path_(std::move(o.path_)),
      part_(std::move(o.part_)),
      facts_(std::move(o.facts_)),
      fd_(std::exchange(o.fd_, -1)),
      size_(o.size_),
      hash_(std::move(o.hash_)) {}

PartFile::~PartFile() {
  if (fd_ >= 0) close(fd_);
}

Error PartFile::cannot_be_written() const {
  const int why = errno;
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return {Code::kIo,
          cat(part_, ": cannot be written: ", std::strerror(why),
              full ? "; make room and run the same command, which goes on from here" : "")};
}

Result<PartFile> PartFile::open(const std::string& final_path, FileFacts facts) {
  PartFile f;
  f.path_ = final_path, f.part_ = final_path + ".part", f.facts_ = std::move(facts);
  f.fd_ = ::open(f.part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (f.fd_ < 0) return f.cannot_be_written();
  f.hash_ = ContentHash(f.facts_);
  std::vector<char> block(kBlock);
  for (;;) {
    const ssize_t n = read(f.fd_, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return f.cannot_be_written();
    if (n == 0) break;
    f.hash_.update({block.data(), static_cast<size_t>(n)});
    f.size_ += n;
  }
  if (f.facts_.size < 0 || f.size_ > f.facts_.size) TRY_OK(f.restart());
  return f;
}

Status PartFile::restart() {
  if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return cannot_be_written();
  size_ = 0;
  hash_ = ContentHash(facts_);
  return Ok{};
}

Status PartFile::expect(FileFacts facts) {
  facts_ = std::move(facts);
  return restart();
}

Status PartFile::append(std::string_view bytes) {
  if (facts_.size >= 0 && size_ + static_cast<int64_t>(bytes.size()) > facts_.size) {
    return Error{Code::kCorrupt, cat(path_, ": expected ", facts_.size,
                                     " bytes, found more; the hub sends "
                                     "something else than it lists")};
  }
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot_be_written();
    hash_.update({bytes.data(), static_cast<size_t>(n)});
    size_ += n;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Ok{};
}

Status PartFile::finish() {
  if (facts_.size >= 0 && size_ != facts_.size)
    return Error{Code::kCorrupt, cat(path_, ": expected ", facts_.size, " bytes, found ", size_)};
  if (const std::string found = hash_.hex(); found != facts_.hash) {
    const Error wrong = {Code::kCorrupt,
                         cat(path_, ": expected the checksum ", facts_.hash, ", found ", found)};
    TRY_OK(restart());
    return wrong;
  }
  if (fsync(fd_) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) return cannot_be_written();
  return Ok{};
}

}  // namespace mlxcel
