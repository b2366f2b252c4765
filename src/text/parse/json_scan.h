// Pieces of JSON text as they stand, so that a number or the order of keys never changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlxcel::text {

// The end of the JSON value that starts at `at` (blanks before it allowed); nothing if the text
// is cut or not JSON.
std::optional<size_t> json_value_end(std::string_view s, size_t at);
// The members of the object that `s` begins with, values as they stand; what follows it is
// `rest`. Nothing if there is no whole object.
struct JsonObject {
  std::vector<std::pair<std::string, std::string_view>> members;
  std::string_view rest;
  std::string_view find(std::string_view key) const;  // empty if missing
};
std::optional<JsonObject> json_object(std::string_view s);
// The elements of the array that `s` begins with.
std::optional<std::vector<std::string_view>> json_array(std::string_view s);
// The string that `s` is as a JSON literal; nothing if it is none.
std::optional<std::string> json_string(std::string_view s);
std::string json_quote(std::string_view s);
std::string_view trim_blanks(std::string_view s);

// By brackets and quotes alone: the end of the string, or of the value, that starts at `at`;
// nothing if the text is cut.
std::optional<size_t> json_string_end(std::string_view s, size_t at);
std::optional<size_t> json_extent(std::string_view s, size_t at);
size_t skip_blanks(std::string_view s, size_t at);

}  // namespace mlxcel::text
