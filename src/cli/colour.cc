#include "cli/colour.h"

#include <unistd.h>

#include <cstdlib>

#include "base/cat.h"

namespace mlxcel {
namespace {

bool has_colours(int descriptor) {
  const char* none = std::getenv("NO_COLOR");  // https://no-color.org: anything but ""
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && (none == nullptr || *none == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace

std::string painted(int descriptor, Colour colour, std::string_view text) {
  if (text.empty() || !has_colours(descriptor)) return std::string(text);
  return cat(colour == Colour::kError ? "\033[1;31m" : "\033[2m", text, "\033[0m");
}

}  // namespace mlxcel
