// What the bytes of a downloaded file must be, as the hub names them.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mlxcel {

struct FileFacts {
  int64_t size = -1;  // -1: unknown
  std::string hash;   // 64 digits: SHA-256; 40: SHA-1 as Git names a blob; "": unknown
  bool operator==(const FileFacts&) const = default;
};

// The hash that `facts` has, over bytes as they come. Without a hash it does nothing.
class ContentHash {
 public:
  explicit ContentHash(const FileFacts& facts);
  void update(std::string_view bytes);
  std::string hex();  // "" without a hash; nothing may follow

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_ = {nullptr, EVP_MD_CTX_free};
};

// Reads a file. kCorrupt if it is not what `facts` say.
Status check_file(const std::string& path, const FileFacts& facts);

}  // namespace mlxcel
