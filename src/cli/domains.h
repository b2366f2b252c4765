// Domains of arguments that a range or a list of words does not say: a wrong value ends the program
// before anything is loaded or downloaded.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/cat.h"
#include "cli/command_line.h"
#include "sampling/params.h"

namespace mlxcel {

// A complaint that begins with the value: usage_error() puts the option's name before it.
inline constexpr char kAboutValue[] = "= ";

// "top_p = 7: expected ..." of sampling/params.h as a complaint; "" if all is well.
std::string complaint(const Status& status);

// The range of a field of SamplingParams, as sampling/params.h has it. Texts that are no number at
// all are left to check_values().
template <class T>
Domain sampling_domain(T SamplingParams::*field) {
  return [field](const std::string& text) -> std::string {
    double value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return "";
    using Limits = std::numeric_limits<T>;
    if (Limits::is_integer && !(value >= static_cast<double>(Limits::min()) &&
                                value < static_cast<double>(Limits::max()))) {
      // The largest int64 is no double; check_values() looks at those exactly.
      if (sizeof(T) == sizeof(int64_t)) return "";
      return cat(kAboutValue, text, ": expected at most ", Limits::max(), "; use ", Limits::max());
    }
    SamplingParams p;
    const double most = static_cast<double>(std::numeric_limits<float>::max());
    p.*field = static_cast<T>(Limits::is_integer ? value : std::clamp(value, -most, most));
    const std::string range = complaint(check(p, INT32_MAX));
    return range.empty() ? "" : cat(kAboutValue, text, range.substr(range.find(": ")));
  };
}

// Numbers are checked as text: CLI11 takes -1 and 2^64 for 2^64 - 1. `type` is that of the option,
// "INT", "UINT" or "FLOAT" and more; null for others. `usual` is its default, for the complaint.
Domain number_domain(const std::string& type, const std::string& usual);

// "512M" -> 536870912; K, M, G and T are powers of 1024, with or without B or iB behind them.
std::optional<int64_t> bytes_of(const std::string& text);
std::string bytes_domain(const std::string& text);

// Any text but "", which a script gives for a variable that it did not set.
std::string no_empty_text(const std::string& text);

// A file that this process may read; "-" too.
std::string readable_file(const std::string& path);

}  // namespace mlxcel
