// The part of a request's target behind the question mark.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mlxcel::server {

// "a%2Fb" -> "a/b"
std::string percent_decoded(std::string_view text);
// The value of `name` in "a=1&b=x%20y"; "" for a name without one.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace mlxcel::server
