// Where a packed record keeps its parts, and one number of it in plain C++.
//
// A record holds `group` k of 16 outputs: the codes, then the sub-scales of two levels, then
// scale[16] (scale[1] where outputs share it; [2][16] for nvfp4's two groups), then bias[16] where
// stored. Codes come in units of 32 k. Inside a unit, byte 4 r + i
// of quad j is output r, k = 4 j + i, and the bits of a code are split over planes:
//   8 bits           [8][64]: quad j, as a signed byte, code - 128
//   low 4 of 4 to 6  [4][64]: quad j in the low, j + 4 in the high nibble
//   2 bits           [2][64]: quads j, j + 2, j + 4, j + 6 from the low bits up (all of 2 bits, the
//                    low of 3, the high of 6)
//   1 bit            [64]: quads 0 to 7 from the low bit up (the high bit of 3 and of 5)
// Float records hold one k: w[16].
#pragma once

#include <cstring>

#include "base/e4m3.h"
#include "base/half.h"
#include "kernels/quant/format.h"

namespace mlxcel::quant {

inline constexpr int kUnit = 32;  // k

// IQ4_NL's values and MXFP4's, the latter doubled.
inline constexpr int8_t kNL4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t kE2M1Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline int scale_bytes(DType scale) {
  return scale == DType::kU8 || scale == DType::kF8_E4M3 ? 1 : scale == DType::kF32 ? 4 : 2;
}

// Of each output, or of all that share them.
inline int scales_per_record(const Format& f) {
  return f.sub > 0 && !two_level(f) ? f.group / f.sub : 1;
}
inline int scale_lanes(const Format& f) { return f.shared ? 1 : static_cast<int>(kBlock); }

struct Layout {  // byte offsets in a record
  int unit;      // bytes of 32 k of codes
  int subs, scales, biases, bytes;
};

constexpr int sub_scales_bytes(SubScales s) {
  return s == SubScales::kNone ? 0 : s == SubScales::kSix ? 192 : 256;
}

inline Layout layout_of(const Format& f) {
  if (f.code == Code::kFloat) {
    const int bytes = static_cast<int>(kBlock) * scale_bytes(f.dtype);
    return {0, bytes, bytes, bytes, bytes};
  }
  Layout l;
  l.unit = f.bits * 64;
  l.subs = f.group / kUnit * l.unit;
  l.scales = l.subs + sub_scales_bytes(f.subs);
  const int width = scale_lanes(f) * scale_bytes(f.scale);
  l.biases = l.scales + scales_per_record(f) * width;
  l.bytes = l.biases + (f.bias ? width : 0);
  return l;
}

// The code of output r at k (0 .. 31) of a unit.
inline int code_at(int bits, const uint8_t* unit, int r, int k) {
  const int j = k / 4, at = 4 * r + k % 4;
  const auto two = [&](const uint8_t* plane) { return plane[j % 2 * 64 + at] >> 2 * (j / 2) & 3; };
  const auto one = [&](const uint8_t* plane) { return plane[at] >> j & 1; };
  if (bits == 8) return unit[j * 64 + at] ^ 128;
  if (bits == 2) return two(unit);
  if (bits == 3) return two(unit) | one(unit + 128) << 2;
  const int low = unit[j % 4 * 64 + at] >> j / 4 * 4 & 15;
  return bits == 4 ? low : bits == 5 ? low | one(unit + 256) << 4 : low | two(unit + 256) << 4;
}

// What is multiplied with an activation, before the offset is subtracted.
inline int number_of(Code code, int c) {
  return code == Code::kE2M1 ? kE2M1Values[c] : code == Code::kNL4 ? kNL4Values[c] : c;
}

// The same where numbers need not be integers.
inline float value_of(Code code, int c) {
  return code == Code::kE4M3 ? 2 * kE4M3[c] : static_cast<float>(number_of(code, c));
}

// Scales of one byte are halved, for their codes' values are doubled.
inline float scale_at(DType type, const void* p, int r) {
  const auto* bytes = static_cast<const uint8_t*>(p);
  if (type == DType::kF8_E4M3) return 0.5f * kE4M3[bytes[r]];
  if (type == DType::kU8) {  // 2^(e - 127)
    const uint32_t e = bytes[r];
    return std::bit_cast<float>(e > 1 ? (e - 1) << 23 : 0x00200000u << e);
  }
  if (type == DType::kF32) {
    float f;
    std::memcpy(&f, bytes + 4 * r, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, bytes + 2 * r, 2);
  return type == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

// The scale of output r that k of a record has; under it a sub-scale may lie.
inline float scale_of(const Format& f, const Layout& l, const uint8_t* record, int r, int k) {
  const int n = two_level(f) || f.sub == 0 ? 0 : k / f.sub, lanes = scale_lanes(f);
  return scale_at(f.scale, record + l.scales + n * lanes * scale_bytes(f.scale), r % lanes);
}

// Sub-scale and sub-minimum number s of output r.
struct SubScale {
  int scale, min;
};
inline SubScale sub_scale_at(SubScales subs, const uint8_t* p, int r, int s) {
  const int pair = s / 2, at = 2 * r + s % 2;
  switch (subs) {
    case SubScales::kBytes:
      return {p[s * 16 + r], p[128 + pair * 32 + at]};
    case SubScales::kNibbles:
      return {p[pair * 32 + at] & 15, p[pair * 32 + at] >> 4};
    case SubScales::kSigned:
      return {static_cast<int8_t>(p[pair * 32 + at]), 0};
    case SubScales::kSix: {
      const int low = p[pair % 4 * 32 + at] >> pair / 4 * 4 & 15;
      const int high = p[128 + pair % 2 * 32 + at] >> 2 * (pair / 2) & 3;
      return {(low | high << 4) - 32, 0};
    }
    case SubScales::kNone:
      break;
  }
  return {1, 0};
}

}  // namespace mlxcel::quant
