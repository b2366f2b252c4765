#include "text/template/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "text/template/chars.h"

namespace mlxcel::text {
namespace {

std::string_view strip(std::string_view s) {
  while (!s.empty()) {
    size_t at = s.size();
    if (!is_space(previous_code_point(s, at))) break;
    s = s.substr(0, at);
  }
  while (!s.empty()) {
    size_t at = 0;
    if (!is_space(next_code_point(s, at))) break;
    s.remove_prefix(at);
  }
  return s;
}

// Single underscores between digits are allowed.
std::optional<std::string> without_underscores(std::string_view s) {
  std::string out;
  auto digit = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] != '_') {
      out += s[i];
    } else if (i == 0 || i + 1 == s.size() || !digit(s[i - 1]) || !digit(s[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::optional<int64_t> parse_python_int(std::string_view text, int base) {
  std::string_view s = strip(text);
  const bool negative = s.starts_with('-');
  if (negative || s.starts_with('+')) s.remove_prefix(1);
  if (s.size() > 2 && s[0] == '0') {
    const char m = static_cast<char>(s[1] | 0x20);
    const int marked = m == 'x' ? 16 : m == 'o' ? 8 : m == 'b' ? 2 : 0;
    if (marked && (base == marked || base == 0)) {
      s.remove_prefix(s[2] == '_' ? 3 : 2);
      base = marked;
    }
  }
  if (base == 0) {
    if (s.size() > 1 && s[0] == '0' && s.find_first_not_of("0_") != s.npos) return std::nullopt;
    base = 10;
  }
  if (base < 2 || base > 36) return std::nullopt;
  auto digits = without_underscores(s);
  if (!digits || digits->empty() || (*digits)[0] == '-') return std::nullopt;
  if (negative) digits->insert(digits->begin(), '-');
  int64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<double> parse_python_float(std::string_view text) {
  std::string_view s = strip(text);
  const bool negative = s.starts_with('-');
  if (negative || s.starts_with('+')) s.remove_prefix(1);
  auto digits = without_underscores(s);
  if (!digits || digits->empty() || (*digits)[0] == '-' || digits->find('(') != digits->npos)
    return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: from_chars leaves the value alone.
    value = std::strtod(digits->c_str(), nullptr);
  } else if (error != std::errc{}) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

double round_to(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  // The exact decimal value, rounded half to even, as Python does.
  char buffer[800];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
  return std::strtod(buffer, nullptr);
}

}  // namespace mlxcel::text
