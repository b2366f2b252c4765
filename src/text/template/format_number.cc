#include "text/template/format_number.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/cat.h"

namespace mlxcel::text {
namespace {

// Separators every `size` digits of the whole part.
std::string grouped(std::string digits, char mark, size_t size) {
  if (!mark) return digits;
  size_t whole = 0;
  while (whole < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[whole]))) whole++;
  for (size_t at = whole; at > size; at -= size) digits.insert(at - size, 1, mark);
  return digits;
}

}  // namespace

std::string format_magnitude(uint64_t n, const NumberFormat& f) {
  const unsigned base = f.type == 'x' || f.type == 'X' ? 16
                        : f.type == 'o'                ? 8
                        : f.type == 'b'                ? 2
                                                       : 10;
  const std::string_view symbols = f.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), symbols[n % base]);
    n /= base;
  } while (n > 0);
  digits = grouped(std::move(digits), f.grouping, base == 10 ? 3 : 4);
  if (f.alternate && base != 10) digits.insert(0, cat("0", f.type));
  return digits;
}

std::string format_magnitude(double d, const NumberFormat& f) {
  const bool percent = f.type == '%';
  std::string pattern = cat("%", f.alternate ? "#" : "", ".*", percent ? 'f' : f.type);
  char buffer[1400];
  std::snprintf(buffer, sizeof buffer, pattern.c_str(), std::min(f.precision, 1000),
                percent ? d * 100 : d);
  std::string digits = buffer;
  if (std::isfinite(d)) digits = grouped(std::move(digits), f.grouping, 3);
  return percent ? digits + "%" : digits;
}

std::string sign_of(bool negative, const NumberFormat& f) {
  if (negative) return "-";
  return f.sign == '-' ? "" : std::string(1, f.sign);
}

}  // namespace mlxcel::text
