// Numbers by a format's presentation type, for both kinds of format strings.
#pragma once

#include <cstdint>
#include <string>

namespace mlxcel::text {

struct NumberFormat {
  char type = 'd';         // d x X o b; e E f F g G %
  int precision = 6;       // of floats
  char sign = '-';         // '-', '+' or ' '
  bool alternate = false;  // 0x in front, or a point that stays
  char grouping = '\0';    // ',' or '_' between thousands
};

// The digits without sign.
std::string format_magnitude(uint64_t magnitude, const NumberFormat& f);
std::string format_magnitude(double magnitude, const NumberFormat& f);
// "-", "+", " " or nothing.
std::string sign_of(bool negative, const NumberFormat& f);

}  // namespace mlxcel::text
