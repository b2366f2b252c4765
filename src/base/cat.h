// cat("file ", name, ": expected ", 3): one string from its parts. Messages only, never in a step.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace mlxcel {

inline void append_part(std::string& s, std::string_view part) { s += part; }
inline void append_part(std::string& s, const char* part) { s += part; }
inline void append_part(std::string& s, char part) { s += part; }
inline void append_part(std::string& s, bool part) { s += part ? "true" : "false"; }

template <class T>
requires(std::integral<T> || std::floating_point<T>) void append_part(std::string& s, T part) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
  s.append(digits, end);
}

template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string s;
  (append_part(s, parts), ...);
  return s;
}

}  // namespace mlxcel
