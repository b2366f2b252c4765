// Base64 to bytes: how a tokenizer.json writes SentencePiece's character map.
#pragma once

#include <string>
#include <string_view>

#include "base/cat.h"
#include "base/result.h"

namespace mlxcel {

inline Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '=') break;
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (digit < 0) return Error{Code::kCorrupt, cat("base64: unexpected character at ", i)};
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace mlxcel
