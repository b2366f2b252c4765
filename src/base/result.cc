#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace mlxcel {

const char* name(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kIo:
      return "io";
    case Code::kDevice:
      return "device";
    case Code::kExhausted:
      return "exhausted";
    case Code::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\nThis is a bug in mlxcel.\n", file, line,
               condition);
  std::abort();
}

}  // namespace mlxcel
