// Python's int(text), float(text) and round().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlxcel::text {

std::optional<int64_t> parse_python_int(std::string_view s, int base);
std::optional<double> parse_python_float(std::string_view s);
double round_to(double value, int64_t digits);

}  // namespace mlxcel::text
