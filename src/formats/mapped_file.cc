#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/cat.h"

namespace mlxcel {
namespace {

std::string system_message(int error) { return std::generic_category().message(error); }

// Why `path` could not be opened. A link whose target is gone is told from a missing file.
Error open_error(const std::string& path, int error) {
  if (error == ENOENT) {
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink(path, ignored);
    if (!ignored)
      return {Code::kNotFound,
              cat(path, ": broken link: its target ", target.string(), " does not exist")};
    return {Code::kNotFound, cat(path, ": expected a file, found nothing")};
  }
  return {Code::kIo, cat(path, ": cannot open: ", system_message(error))};
}

const char* kind_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

int advice(MappedFile::Access access) {
  switch (access) {
    case MappedFile::Access::kNormal:
      return MADV_NORMAL;
    case MappedFile::Access::kSequential:
      return MADV_SEQUENTIAL;
    case MappedFile::Access::kRandom:
      return MADV_RANDOM;
    case MappedFile::Access::kWillNeed:
      return MADV_WILLNEED;
    case MappedFile::Access::kDontNeed:
      return MADV_DONTNEED;
  }
  return MADV_NORMAL;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return open_error(path, errno);
  struct stat status;
  if (fstat(file.fd, &status) != 0)
    return Error{Code::kIo, cat(path, ": cannot stat: ", system_message(errno))};
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kInvalid,
                 cat(path, ": expected a regular file, found ", kind_name(status.st_mode))};
  }
  MappedFile mapped;
  mapped.path_ = path;
  if (status.st_size == 0) return mapped;
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) {
    return Error{Code::kIo, cat(path, ": cannot map ", size, " bytes: ", system_message(errno))};
  }
  mapped.data_ = static_cast<const uint8_t*>(data);
  mapped.size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::advise(Access access, size_t offset, size_t length) const {
  if (offset >= size_) return;
  length = std::min(length, size_ - offset);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), begin = offset / page * page;
  madvise(const_cast<uint8_t*>(data_) + begin, offset - begin + length, advice(access));
}

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  TRY(const MappedFile file, MappedFile::open(path));
  if (file.size() > limit) {
    return Error{Code::kInvalid,
                 cat(path, ": expected at most ", limit, " bytes, found ", file.size())};
  }
  const auto bytes = file.bytes();
  return std::string(bytes.begin(), bytes.end());
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 120;
  constexpr char kHex[] = "0123456789abcdef";
  std::string s = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      s += cat("\\x", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      if (c == '"' || c == '\\') s += '\\';
      s += c;
    }
  }
  return s + (text.size() > kShown ? cat("...\" (", text.size(), " bytes)") : "\"");
}

}  // namespace mlxcel
