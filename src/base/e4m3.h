// e4m3: a float of 8 bits. Sign, 4 bits of exponent with bias 7, 3 of fraction; all ones is no
// number, and there is no infinity.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace mlxcel {

// Of every byte: a matrix has millions.
inline constexpr std::array<float, 256> kE4M3 = [] {
  std::array<float, 256> all{};
  for (uint32_t code = 0; code < 256; code++) {
    const uint32_t exponent = code >> 3 & 15, fraction = code & 7;
    const float magnitude = (code & 127) == 127 ? std::numeric_limits<float>::quiet_NaN()
                            : exponent == 0
                                ? static_cast<float>(fraction) * 0x1p-9f
                                : std::bit_cast<float>((exponent + 120) << 23 | fraction << 20);
    all[code] = code & 128 ? -magnitude : magnitude;
  }
  return all;
}();

}  // namespace mlxcel
