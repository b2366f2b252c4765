// What the environment says.
#pragma once

#include <cstdlib>
#include <string>

#include "base/cat.h"
#include "base/result.h"

namespace mlxcel {

// The value of a variable; "" if it is not set.
inline std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// A switch: 0 or 1, or `otherwise` if it is not set.
inline Result<bool> environment_switch(const char* variable, bool otherwise) {
  const std::string value = environment(variable);
  if (value.empty()) return otherwise;
  if (value == "0" || value == "1") return value == "1";
  return Error{Code::kInvalid, cat(variable, ": expected 0 or 1, found \"", value, '"')};
}

}  // namespace mlxcel
