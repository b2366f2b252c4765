#include "weights/expand.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/cat.h"
#include "base/half.h"

namespace mlxcel {
namespace {

constexpr float kE2M1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

// Sign, 4 bits of exponent with bias 7, 3 of fraction; 0x7f is no number. Of every byte: a matrix
// has millions.
constexpr std::array<float, 256> kE4M3 = [] {
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

float e2m1(int code) { return code & 8 ? -kE2M1[code & 7] : kE2M1[code & 7]; }

// Memory that lives as long as the source. [bytes]
uint8_t* own(WeightSource& s, DType dtype) {
  s.dtype = dtype, s.bytes = bytes_of(dtype, s.out * s.in);
  const auto memory = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(s.bytes));
  s.owned = memory;
  s.data = reinterpret_cast<const std::byte*>(memory->data());
  return memory->data();
}

void mxfp4_blocks(const uint8_t* codes, const uint8_t* scales, int64_t groups, uint8_t* to) {
  for (int64_t g = 0; g < groups; g++, codes += 16, to += 17) {
    const auto code = [&](int k) { return codes[k / 2] >> k % 2 * 4 & 15; };
    to[0] = scales[g];
    for (int i = 0; i < 16; i++) to[1 + i] = static_cast<uint8_t>(code(i) | code(i + 16) << 4);
  }
}

void put(uint8_t* to, int64_t i, float value) {
  const uint16_t h = f32_to_bf16(value);
  std::memcpy(to + 2 * i, &h, 2);
}

double scale_at(const FileTensor& t, int64_t i) {
  if (t.dtype == DType::kF32) {
    float f;
    std::memcpy(&f, t.data + 4 * i, 4);
    return f;
  }
  uint16_t h;
  std::memcpy(&h, t.data + 2 * i, 2);
  return t.dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

int64_t elements(const FileTensor& t) {
  int64_t n = 1;
  for (const int64_t d : t.shape) n *= d;
  return n;
}

}  // namespace

Status expand_mx(const FileTensor& codes, const FileTensor& scales, WeightSource& s) {
  const int64_t bits = codes.shape[1] * 32 / s.in, group = s.in / scales.shape[1];
  const bool mxfp4 = bits == 4 && group == 32, mxfp8 = bits == 8 && group == 32,
             nvfp4 = bits == 4 && group == 16;
  if (!mxfp4 && !mxfp8 && !nvfp4) {
    return Error{Code::kUnsupported, cat(s.name, ": expected mxfp4, mxfp8 or nvfp4, found ", bits,
                                         " bits in groups of ", group, " with one byte a group")};
  }
  s.origin = mxfp4 ? "mxfp4" : mxfp8 ? "mxfp8" : "nvfp4";
  if (mxfp4) {
    mxfp4_blocks(codes.data, scales.data, s.out * s.in / 32, own(s, DType::kMXFP4));
    return Ok{};
  }
  uint8_t* to = own(s, DType::kBF16);
  for (int64_t first = 0; first < s.out * s.in; first += group) {
    const uint8_t byte = scales.data[first / group];
    const float scale = nvfp4 ? kE4M3[byte] : std::ldexp(1.0f, static_cast<int>(byte) - 127);
    for (int64_t i = first; i < first + group; i++) {
      const float x = nvfp4 ? e2m1(codes.data[i / 2] >> i % 2 * 4 & 15) : kE4M3[codes.data[i]];
      put(to, i, scale * x);
    }
  }
  return Ok{};
}

Status expand_fp8(const FileTensor& codes, const FileTensor& scales, int64_t rows, int64_t columns,
                  WeightSource& s) {
  const int64_t count = elements(scales);
  const bool blocks = rows > 0 && columns > 0;
  const int64_t down = blocks       ? (s.out + rows - 1) / rows
                       : count == 1 ? 1
                                    : s.out,
                across = blocks ? (s.in + columns - 1) / columns : 1;
  const bool floats =
      scales.dtype == DType::kF32 || scales.dtype == DType::kF16 || scales.dtype == DType::kBF16;
  if (count != down * across || !floats || codes.shape != std::vector<int64_t>{s.out, s.in}) {
    return Error{Code::kCorrupt,
                 cat(s.name, ": expected [", s.out, ", ", s.in, "] codes and ", down * across,
                     " scales, found ", shape_string(codes.shape), " and ",
                     shape_string(scales.shape), " of ", name(scales.dtype))};
  }
  s.origin = "fp8", s.rounded = true;
  uint8_t* to = own(s, DType::kBF16);
  for (int64_t r = 0; r < s.out; r++) {
    const int64_t row = blocks ? r / rows : count == 1 ? 0 : r;
    double scale = 0;
    for (int64_t k = 0; k < s.in; k++) {
      if (k == 0 || (blocks && k % columns == 0)) {
        scale = scale_at(scales, row * across + (blocks ? k / columns : 0));
      }
      put(to, r * s.in + k, static_cast<float>(scale * kE4M3[codes.data[r * s.in + k]]));
    }
  }
  return Ok{};
}

}  // namespace mlxcel
