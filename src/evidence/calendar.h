// Dates as the tables write them: "2026-09-01". Days are counted on the calendar: digits say that
// 2026-08-31 and 2026-09-01 are 70 apart.
#pragma once

#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace mlxcel {

// Days since 1970-01-01; empty if the text is no date that exists.
inline std::optional<int> day_number(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  int part[3] = {};
  constexpr size_t kFrom[] = {0, 5, 8}, kLength[] = {4, 2, 2};
  for (int i = 0; i < 3; i++) {
    const char* begin = text.data() + kFrom[i];
    const auto [end, error] = std::from_chars(begin, begin + kLength[i], part[i]);
    if (error != std::errc() || end != begin + kLength[i] || part[i] <= 0) return std::nullopt;
  }
  using std::chrono::day, std::chrono::month, std::chrono::year;
  const std::chrono::year_month_day date{year{part[0]}, month{static_cast<unsigned>(part[1])},
                                         day{static_cast<unsigned>(part[2])}};
  if (!date.ok()) return std::nullopt;
  return static_cast<int>(std::chrono::sys_days{date}.time_since_epoch().count());
}

}  // namespace mlxcel
