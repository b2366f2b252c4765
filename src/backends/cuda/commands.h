// A recorded step: launches as plain structs, one after the other in one buffer. Two recordings
// with equal bytes do the same work, so a graph captured from one replays the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/cuda/launch.h"

namespace mlxcel {

class CommandList {
 public:
  // REQUIRES: Args has no padding.
  template <class Args>
  void push(void (*launch)(const Args&, CudaStream), const Args& args) {
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) % 8 == 0);
    const Header header = {&call<Args>, reinterpret_cast<void (*)()>(launch), sizeof(Args)};
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof header + sizeof args);
    std::memcpy(bytes_.data() + at, &header, sizeof header);
    std::memcpy(bytes_.data() + at + sizeof header, &args, sizeof args);
    count_++;
  }

  void run(CudaStream stream) const {
    for (size_t at = 0; at < bytes_.size();) {
      Header header;
      std::memcpy(&header, bytes_.data() + at, sizeof header);
      header.call(header.run, bytes_.data() + at + sizeof header, stream);
      at += sizeof header + header.size;
    }
  }

  void clear() { bytes_.clear(), count_ = 0; }
  bool empty() const { return bytes_.empty(); }
  int count() const { return count_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  uint64_t hash() const {  // FNV-1a, a word at a time
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < bytes_.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes_.data() + i, 8);
      h = (h ^ word) * 0x100000001b3ull;
      h ^= h >> 29;
    }
    return h;
  }

 private:
  struct Header {
    void (*call)(void (*run)(), const std::byte* args, CudaStream stream);
    void (*run)();
    uint64_t size;
  };
  template <class Args>
  static void call(void (*run)(), const std::byte* bytes, CudaStream stream) {
    Args args;
    std::memcpy(&args, bytes, sizeof args);
    reinterpret_cast<void (*)(const Args&, CudaStream)>(run)(args, stream);
  }

  std::vector<std::byte> bytes_;
  int count_ = 0;
};

}  // namespace mlxcel
