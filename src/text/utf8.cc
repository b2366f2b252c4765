#include "text/utf8.h"

#include <cstring>

namespace mlxcel {
namespace {

struct Lead {
  uint8_t size;       // 0: no character starts with this byte
  uint8_t low, high;  // range of the second byte: no overlong forms, surrogates or > U+10FFFF
};

Lead lead_of(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the ASCII run at `at`, eight bytes at a time.
size_t ascii_run(std::string_view text, size_t at) {
  const size_t begin = at;
  while (at + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080u) break;
    at += 8;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) at++;
  return at - begin;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, size_t at) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.size == 0) return {kReplacement, 1, false, false};
  char32_t code = first & (0x7F >> lead.size);
  uint8_t low = lead.low, high = lead.high;
  for (uint8_t i = 1; i < lead.size; i++) {
    if (at + i >= text.size()) return {kReplacement, i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    if (byte < low || byte > high) return {kReplacement, i, false, false};
    code = code << 6 | (byte & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {code, lead.size, true, false};
}

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    at += ascii_run(text, at);
    if (at == text.size()) break;
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid) return false;
    at += c.size;
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    out += c.valid ? text.substr(at, c.size) : kReplacementUtf8;
    at += c.size;
  }
  return out;
}

}  // namespace mlxcel
