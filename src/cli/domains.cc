#include "cli/domains.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace mlxcel {
namespace {

// Whether all of `text` is a number of type T.
template <class T>
bool is_number(const std::string& text) {
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Refuses what is no number, with one that is.
template <class T>
Domain refuse_others(const std::string& usual) {
  const std::string instead = is_number<T>(usual) ? usual : "1";
  return [instead](const std::string& text) -> std::string {
    if (is_number<T>(text)) return "";
    using Limits = std::numeric_limits<T>;
    const std::string expected =
        Limits::is_integer ? cat("a whole number from ", Limits::min(), " to ", Limits::max())
                           : std::string("a number");
    return cat("expected ", expected, ", found \"", text, "\"; for example ", instead);
  };
}

}  // namespace

Domain number_domain(const std::string& type, const std::string& usual) {
  if (type.starts_with("UINT")) return refuse_others<uint64_t>(usual);
  if (type.starts_with("INT")) return refuse_others<int64_t>(usual);
  if (type.starts_with("FLOAT")) return refuse_others<double>(usual);
  return nullptr;
}

std::string complaint(const Status& status) {
  if (status) return "";
  const std::string& message = status.error().message;
  return message.substr(std::min(message.find(kAboutValue), message.size()));
}

std::optional<int64_t> bytes_of(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0) return std::nullopt;
  std::string unit(rest, end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "B") return value;
  const size_t power = kUnits.find(unit[0]);
  const std::string suffix = unit.substr(1);
  if (power == kUnits.npos || (!suffix.empty() && suffix != "B" && suffix != "IB"))
    return std::nullopt;
  const int64_t factor = int64_t{1} << (10 * (power + 1));
  if (value > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
  return value * factor;
}

std::string bytes_domain(const std::string& text) {
  if (bytes_of(text)) return "";
  return cat(kAboutValue, text, ": expected bytes, at least 0; for example 512M or 4G");
}

std::string no_empty_text(const std::string& text) {
  return text.empty() ? cat(kAboutValue, ": expected a text; leave the option out for its default")
                      : "";
}

std::string readable_file(const std::string& path) {
  if (path == "-") return "";
  struct stat status;
  errno = 0;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) errno = EISDIR;
  if (errno == 0 && access(path.c_str(), R_OK) == 0) return "";
  return cat(kAboutValue, path, ": expected a file that can be read: ", std::strerror(errno));
}

}  // namespace mlxcel
