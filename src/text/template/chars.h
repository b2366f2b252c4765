// Code points of valid UTF-8, and the character classes of Python's str methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/utf8.h"

namespace mlxcel::text {

// The code point at `at`, which moves behind it. REQUIRES: valid UTF-8, at < size.
char32_t next_code_point(std::string_view bytes, size_t& at);
// The code point before `at`, which moves to its first byte. REQUIRES: at > 0.
char32_t previous_code_point(std::string_view bytes, size_t& at);
size_t count_code_points(std::string_view bytes);
// The byte where code point number `index` starts; the size if there are fewer.
size_t byte_of_code_point(std::string_view bytes, size_t index);

// As Python's str methods: isspace (also \s), isprintable, isalpha, isdecimal, isdigit, ...
bool is_space(char32_t c);
bool is_printable(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_word(char32_t c);        // \w
bool is_name_start(char32_t c);  // of an identifier
bool is_name_part(char32_t c);

// Full case mappings, which may change the length.
std::string to_upper(std::string_view s);
std::string to_lower(std::string_view s);
std::string to_title(char32_t c);
std::string fold_case(std::string_view s);

}  // namespace mlxcel::text
