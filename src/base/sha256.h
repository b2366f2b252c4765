// SHA-256 (FIPS 180-4): names the exact bytes of a file or a record. Not for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mlxcel {

class Sha256 {
 public:
  void update(const void* data, size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::string hex();  // 64 digits; nothing may follow

 private:
  void block(const uint8_t* p);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t rest_[64];
  uint64_t size_ = 0;
};

std::string sha256_hex(std::string_view text);
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace mlxcel
