// Which build this is: for --version and for records.
#pragma once

#include <string>

namespace mlxcel {

// "mlxcel 0.1.0 (1a2b3c4d)": version, commit, then backends and instruction sets, a line each.
std::string version_text();
std::string version_number();  // "0.1.0"
std::string commit();          // "1a2b3c4d", with -dirty after if files were changed; "unknown"

}  // namespace mlxcel
