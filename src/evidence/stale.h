// A program that was not built from the sources beside it measures something else than its reader
// believes.
#pragma once

#include <string>

#include "base/result.h"

namespace mlxcel {

// Why `program`, stamped with `commit`, is not what the checkout that holds it would build; "": it
// is, or no checkout holds it. Only what is compiled counts: src, include, cmake, CMakeLists.txt.
Result<std::string> stale_reason(const std::string& program, const std::string& commit);

}  // namespace mlxcel
