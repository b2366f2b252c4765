// What the environment says.
#pragma once

#include <cstdlib>
#include <string>

namespace mlxcel {

// The value of a variable; "" if it is not set.
inline std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace mlxcel
