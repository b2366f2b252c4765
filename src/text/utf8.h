// UTF-8: one decoder for the whole folder, with one rule for bytes that are not UTF-8.
//
// An invalid sequence is as long as its longest prefix that could have begun a character (at least
// one byte) and stands for one U+FFFD: the rule of the Unicode standard, Rust and Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlxcel {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

struct Utf8Char {
  char32_t code;    // kReplacement if the bytes are invalid or cut
  uint8_t size;     // bytes it takes, >= 1
  bool valid;       // false: not UTF-8
  bool incomplete;  // not valid, but more bytes could make it so
};

// The character at `at`. REQUIRES: at < text.size().
Utf8Char decode_utf8(std::string_view text, size_t at);

void append_utf8(std::string& out, char32_t code);  // REQUIRES: a Unicode scalar value

// Bytes of the character that starts with `lead`, in text known to be valid.
inline size_t utf8_size(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
inline bool is_utf8_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// True if all of `text` is valid.
bool is_utf8(std::string_view text);

// `text` with every invalid sequence replaced by U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace mlxcel
