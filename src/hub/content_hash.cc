#include "hub/content_hash.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/cat.h"

namespace mlxcel {

ContentHash::ContentHash(const FileFacts& facts) {
  constexpr size_t kSha1Digits = 40;
  if (facts.hash.empty()) return;
  const bool git = facts.hash.size() == kSha1Digits;
  context_.reset(EVP_MD_CTX_new());
  CHECK(context_ && EVP_DigestInit_ex(context_.get(), git ? EVP_sha1() : EVP_sha256(), nullptr));
  if (!git) return;
  const std::string head = cat("blob ", facts.size);
  update({head.c_str(), head.size() + 1});
}

void ContentHash::update(std::string_view bytes) {
  if (context_) EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string ContentHash::hex() {
  constexpr char kDigits[] = "0123456789abcdef";
  if (!context_) return {};
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  EVP_DigestFinal_ex(context_.get(), digest, &count);
  std::string s;
  for (unsigned i = 0; i < count; i++) s += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  return s;
}

Status check_file(const std::string& path, const FileFacts& facts) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return Error{Code::kIo, cat(path, ": ", std::strerror(errno))};
  ContentHash hash(facts);
  std::vector<char> block(1 << 20);
  int64_t size = 0;
  for (size_t n; (n = std::fread(block.data(), 1, block.size(), file)) > 0;) {
    size += static_cast<int64_t>(n);
    hash.update({block.data(), n});
  }
  std::fclose(file);
  if (size == facts.size && hash.hex() == facts.hash) return Ok{};
  return Error{Code::kCorrupt, cat(path, ": expected ", facts.size, " bytes with the checksum ",
                                   facts.hash, ", found others")};
}

}  // namespace mlxcel
