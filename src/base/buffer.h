// A large block of memory: page-aligned, in huge pages where the system has them, zeroed, and an
// Error when there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace mlxcel {

class Buffer {
 public:
  // Reading up to kSlack bytes past the end is allowed: prefetches and whole-vector loads.
  static constexpr int64_t kSlack = 4096;

  static Result<Buffer> make(int64_t bytes);

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
  }

  std::byte* data_ = nullptr;
  int64_t size_ = 0, mapped_ = 0;
};

// Bytes that the system could still give: MemAvailable, and the cgroup's limit if that is lower.
int64_t available_memory();

}  // namespace mlxcel
