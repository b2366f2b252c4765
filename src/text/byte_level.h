// The alphabet of byte-level BPE: each byte is written as one printable character, so that a
// vocabulary is text. Printable Latin-1 bytes stand for themselves, the others, in order, for
// U+0100 and up; so the space is U+0120.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/utf8.h"

namespace mlxcel {

constexpr bool is_printable_latin1(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

inline constexpr std::array<char16_t, 256> kByteToChar = [] {
  std::array<char16_t, 256> table{};
  char16_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; byte++) {
    table[byte] = is_printable_latin1(byte) ? static_cast<char16_t>(byte) : next++;
  }
  return table;
}();

inline constexpr size_t kByteChars = 0x144;  // every character of the alphabet is below
inline constexpr std::array<int16_t, kByteChars> kCharToByte = [] {
  std::array<int16_t, kByteChars> table{};
  for (auto& byte : table) byte = -1;
  for (int16_t byte = 0; byte < 256; byte++) table[kByteToChar[static_cast<size_t>(byte)]] = byte;
  return table;
}();

inline void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_utf8(out, kByteToChar[static_cast<uint8_t>(byte)]);
}

// The bytes that `spelling` stands for; nothing if a character is not of the alphabet.
inline std::optional<std::string> bytes_of_byte_level(std::string_view spelling) {
  std::string bytes;
  for (size_t at = 0; at < spelling.size();) {
    const Utf8Char c = decode_utf8(spelling, at);
    if (!c.valid || c.code >= kByteChars || kCharToByte[c.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kCharToByte[c.code]);
    at += c.size;
  }
  return bytes;
}

}  // namespace mlxcel
