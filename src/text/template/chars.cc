#include "text/template/chars.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <algorithm>

namespace mlxcel::text {

char32_t next_code_point(std::string_view s, size_t& at) {
  const Utf8Char c = decode_utf8(s, at);
  at += c.size;
  return c.code;
}

char32_t previous_code_point(std::string_view s, size_t& at) {
  do at--;
  while (at > 0 && is_utf8_continuation(s[at]));
  size_t begin = at;
  return next_code_point(s, begin);
}

size_t count_code_points(std::string_view s) {
  return static_cast<size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return !is_utf8_continuation(c); }));
}

size_t byte_of_code_point(std::string_view s, size_t index) {
  size_t at = 0;
  while (index > 0 && at < s.size()) {
    at += utf8_size(s[at]);
    index--;
  }
  return std::min(at, s.size());
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const auto mask = U_GET_GC_MASK(static_cast<UChar32>(c));
  return (mask & (U_GC_C_MASK | U_GC_Z_MASK)) == 0;
}

bool is_alpha(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_L_MASK) != 0; }

bool is_decimal(char32_t c) {
  return u_charType(static_cast<UChar32>(c)) == U_DECIMAL_DIGIT_NUMBER;
}

namespace {
UNumericType numeric_type(char32_t c) {
  return static_cast<UNumericType>(
      u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE));
}
}  // namespace

bool is_digit(char32_t c) {
  return numeric_type(c) == U_NT_DECIMAL || numeric_type(c) == U_NT_DIGIT;
}
bool is_numeric(char32_t c) { return numeric_type(c) != U_NT_NONE; }
bool is_upper(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_UPPERCASE) != 0;
}
bool is_lower(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_LOWERCASE) != 0;
}
bool is_title(char32_t c) { return u_charType(static_cast<UChar32>(c)) == U_TITLECASE_LETTER; }
bool is_word(char32_t c) { return c == '_' || is_alpha(c) || is_numeric(c); }
bool is_name_start(char32_t c) {
  return c == '_' || u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_START) != 0;
}
bool is_name_part(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_CONTINUE) != 0;
}

namespace {

using Mapping = int32_t (*)(UChar* to, int32_t capacity, const UChar* from, int32_t n,
                            UErrorCode* error);

std::string map_case(std::string_view s, Mapping mapping) {
  std::u16string from, to;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = next_code_point(s, at);
    if (c >= 0x10000) {
      from += static_cast<char16_t>(0xd7c0 + (c >> 10));
      from += static_cast<char16_t>(0xdc00 | (c & 0x3ff));
    } else {
      from += static_cast<char16_t>(c);
    }
  }
  to.resize(from.size() * 3 + 1);  // no mapping makes a character longer than three units
  UErrorCode error = U_ZERO_ERROR;
  const int32_t n = mapping(to.data(), static_cast<int32_t>(to.size()), from.data(),
                            static_cast<int32_t>(from.size()), &error);
  std::string out;
  for (size_t i = 0; i < static_cast<size_t>(n); i++) {
    char32_t c = to[i];
    if ((c & 0xfc00) == 0xd800) c = ((c - 0xd7c0) << 10) + (to[++i] & 0x3ff);
    append_utf8(out, c);
  }
  return out;
}

}  // namespace

std::string to_upper(std::string_view s) {
  return map_case(s,
                  [](UChar* to, int32_t capacity, const UChar* from, int32_t n, UErrorCode* error) {
                    return u_strToUpper(to, capacity, from, n, "", error);
                  });
}

std::string to_lower(std::string_view s) {
  return map_case(s,
                  [](UChar* to, int32_t capacity, const UChar* from, int32_t n, UErrorCode* error) {
                    return u_strToLower(to, capacity, from, n, "", error);
                  });
}

std::string to_title(char32_t c) {
  std::string s;
  append_utf8(s, c);
  return map_case(s,
                  [](UChar* to, int32_t capacity, const UChar* from, int32_t n, UErrorCode* error) {
                    return u_strToTitle(to, capacity, from, n, nullptr, "", error);
                  });
}

std::string fold_case(std::string_view s) {
  return map_case(s,
                  [](UChar* to, int32_t capacity, const UChar* from, int32_t n, UErrorCode* error) {
                    return u_strFoldCase(to, capacity, from, n, U_FOLD_CASE_DEFAULT, error);
                  });
}

}  // namespace mlxcel::text
