// Colours, where a person sees them: on a terminal that has some, and none with NO_COLOR.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel {

enum class Colour { kError, kDim };

// `text` for this stream: as it is, or between escape sequences.
std::string painted(int descriptor, Colour colour, std::string_view text);

}  // namespace mlxcel
