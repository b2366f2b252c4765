// The table of weight formats: one row per format, none hidden elsewhere.
#pragma once

#include <array>

#include "kernels/quant/affine.h"
#include "kernels/quant/fp8.h"
#include "kernels/quant/iq4_nl.h"
#include "kernels/quant/mxfp4.h"
#include "kernels/quant/q2_k.h"
#include "kernels/quant/q3_k.h"
#include "kernels/quant/q4_0.h"
#include "kernels/quant/q4_1.h"
#include "kernels/quant/q4_k.h"
#include "kernels/quant/q5_0.h"
#include "kernels/quant/q5_1.h"
#include "kernels/quant/q5_k.h"
#include "kernels/quant/q6_k.h"
#include "kernels/quant/q8_0.h"

namespace mlxcel::quant {

using D = DType;
using S = SubScales;

// clang-format off
inline constexpr Format kFormats[] = {
    // name      dtype       code          bits group sub scale    bias   offset sub-scales   read
    {"F32",    D::kF32,    Code::kFloat, 32,  1,    0,  D::kF32, false, 0,     S::kNone,    nullptr},
    {"F16",    D::kF16,    Code::kFloat, 16,  1,    0,  D::kF32, false, 0,     S::kNone,    nullptr},
    {"BF16",   D::kBF16,   Code::kFloat, 16,  1,    0,  D::kF32, false, 0,     S::kNone,    nullptr},
    {"Q4_0",   D::kQ4_0,   Code::kU4,    4,   32,   0,  D::kF16, false, 8,     S::kNone,    read_q4_0},
    {"Q4_1",   D::kQ4_1,   Code::kU4,    4,   32,   0,  D::kF16, true,  0,     S::kNone,    read_q4_1},
    {"Q5_0",   D::kQ5_0,   Code::kU5,    5,   32,   0,  D::kF16, false, 16,    S::kNone,    read_q5_0},
    {"Q5_1",   D::kQ5_1,   Code::kU5,    5,   32,   0,  D::kF16, true,  0,     S::kNone,    read_q5_1},
    {"Q8_0",   D::kQ8_0,   Code::kU8,    8,   32,   0,  D::kF16, false, 128,   S::kNone,    read_q8_0},
    {"IQ4_NL", D::kIQ4_NL, Code::kNL4,   4,   32,   0,  D::kF16, false, 0,     S::kNone,    read_iq4_nl},
    {"MXFP4",  D::kMXFP4,  Code::kE2M1,  4,   32,   0,  D::kU8,  false, 0,     S::kNone,    read_mxfp4},
    {"Q2_K",   D::kQ2_K,   Code::kU2,    2,   256,  16, D::kF16, true,  0,     S::kNibbles, read_q2_k},
    {"Q3_K",   D::kQ3_K,   Code::kU3,    3,   256,  16, D::kF16, false, 4,     S::kSix,     read_q3_k},
    {"Q4_K",   D::kQ4_K,   Code::kU4,    4,   256,  32, D::kF16, true,  0,     S::kBytes,   read_q4_k},
    {"Q5_K",   D::kQ5_K,   Code::kU5,    5,   256,  32, D::kF16, true,  0,     S::kBytes,   read_q5_k},
    {"Q6_K",   D::kQ6_K,   Code::kU6,    6,   256,  16, D::kF16, false, 32,    S::kSigned,  read_q6_k},
};
// clang-format on

// MLX: bits x group x width of scales and biases, as affine(bits, group, scale).
inline constexpr int kAffineGroups[] = {32, 64, 128};
inline constexpr DType kAffineScales[] = {DType::kF16, DType::kBF16, DType::kF32};
struct AffineBits {
  int bits;
  Code code;
  const char* name;
};
inline constexpr AffineBits kAffineBits[] = {
    {2, Code::kU2, "affine 2-bit"}, {3, Code::kU3, "affine 3-bit"}, {4, Code::kU4, "affine 4-bit"},
    {5, Code::kU5, "affine 5-bit"}, {6, Code::kU6, "affine 6-bit"}, {8, Code::kU8, "affine 8-bit"}};

inline constexpr auto kAffineFormats = [] {
  std::array<Format, 6 * 3 * 3> table{};
  size_t i = 0;
  for (const AffineBits& b : kAffineBits) {
    for (const int group : kAffineGroups) {
      for (const DType scale : kAffineScales) {
        table[i++] = {b.name, DType::kU32, b.code, b.bits,   group,  0,
                      scale,  true,        0,      S::kNone, nullptr};
      }
    }
  }
  return table;
}();

// MLX's codes of floats. nvfp4's groups are 16 k, and a record holds two of them.
// clang-format off
inline constexpr Format kMxFormats[] = {
    {"mxfp4",  D::kU32,    Code::kE2M1,  4,    32,   0,  D::kU8,      false, 0, S::kNone, nullptr},
    {"mxfp8",  D::kU32,    Code::kE4M3,  8,    32,   0,  D::kU8,      false, 0, S::kNone, nullptr},
    {"nvfp4",  D::kU32,    Code::kE2M1,  4,    32,   16, D::kF8_E4M3, false, 0, S::kNone, nullptr},
};
// clang-format on

// fp8: by k per record, and whether sixteen outputs have one scale.
inline constexpr int kFp8Groups[] = {256, 128, 64, 32};
inline constexpr auto kFp8Formats = [] {
  std::array<Format, 8> table{};
  size_t i = 0;
  for (const int group : kFp8Groups) {
    for (const bool shared : {true, false}) {
      table[i++] = {"fp8",   D::kF8_E4M3, Code::kE4M3, 8,        group,   0,
                    D::kF32, false,       0,           S::kNone, nullptr, shared};
    }
  }
  return table;
}();

}  // namespace mlxcel::quant
