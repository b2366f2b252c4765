#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "base/cat.h"
#include "base/cgroup.h"

namespace mlxcel {
namespace {

constexpr int64_t kHugePage = 2 << 20;

}  // namespace

Result<Buffer> Buffer::make(int64_t bytes) {
  CHECK(bytes >= 0 && bytes < INT64_MAX / 2);
  Buffer b;
  b.size_ = bytes;
  const bool huge = bytes >= kHugePage;
  const int64_t unit = huge ? kHugePage : 4096;
  const int64_t wanted = (bytes + kSlack + unit - 1) / unit * unit;
  // One huge page more, so that the start can be aligned; the unused ends are returned.
  const int64_t extra = huge ? kHugePage : 0;
  void* p =
      mmap(nullptr, wanted + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Error{Code::kExhausted, cat("memory: expected ", bytes, " bytes more, found none")};
  auto* start = static_cast<std::byte*>(p);
  if (huge) {
    const int64_t lead = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
    if (lead > 0) munmap(start, lead);
    if (lead < extra) munmap(start + lead + wanted, extra - lead);
    start += lead;
    madvise(start, wanted, MADV_HUGEPAGE);
  }
  b.data_ = start, b.mapped_ = wanted;
  return b;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

int64_t available_memory() {
  int64_t available = INT64_MAX;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r"); file != nullptr) {
    char line[256];
    int64_t kib;
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1) available = kib * 1024;
    }
    std::fclose(file);
  }
  return std::min(available, cgroup_memory_left("/sys/fs/cgroup", own_cgroup()));
}

}  // namespace mlxcel
