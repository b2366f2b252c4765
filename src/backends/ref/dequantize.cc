#include "backends/ref/dequantize.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"

namespace mlxcel {
namespace {

constexpr double kE2M1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

uint16_t u16(const std::byte* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

double f16(const std::byte* p) { return f16_to_f32(u16(p)); }

double number(DType dtype, const std::byte* p) {
  if (dtype == DType::kF16) return f16(p);
  if (dtype == DType::kBF16) return bf16_to_f32(u16(p));
  float v;
  std::memcpy(&v, p, 4);
  return v;
}

// One block of a GGUF format, as ggml's quantization types define it.
void block(DType dtype, const std::byte* p, double* out) {
  const auto code = [](const std::byte* q) { return std::to_integer<int>(*q); };
  switch (dtype) {
    case DType::kQ4_0:  // d, 16 bytes: element j in the low nibble of byte j, element j + 16 in the
                        // high one
      for (int j = 0; j < 16; j++) {
        out[j] = f16(p) * ((code(p + 2 + j) & 15) - 8);
        out[j + 16] = f16(p) * ((code(p + 2 + j) >> 4) - 8);
      }
      return;
    case DType::kQ4_1:  // d, m, 16 bytes
      for (int j = 0; j < 16; j++) {
        out[j] = f16(p) * (code(p + 4 + j) & 15) + f16(p + 2);
        out[j + 16] = f16(p) * (code(p + 4 + j) >> 4) + f16(p + 2);
      }
      return;
    case DType::kQ8_0:  // d, 32 signed bytes
      for (int j = 0; j < 32; j++) out[j] = f16(p) * static_cast<int8_t>(code(p + 2 + j));
      return;
    case DType::kMXFP4: {  // an exponent, 16 bytes
      const double scale = std::ldexp(1.0, code(p) - 127);
      for (int j = 0; j < 32; j++) {
        const int c = code(p + 1 + j % 16) >> j / 16 * 4 & 15;
        out[j] = scale * (c & 8 ? -kE2M1[c & 7] : kE2M1[c & 7]);
      }
      return;
    }
    default:
      out[0] = number(dtype, p);
  }
}

// The OCP's formula of an e4m3 byte.
double e4m3(int code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double sign = code & 128 ? -1 : 1;
  if ((code & 127) == 127) return std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(fraction / 8.0, -6)
                               : std::ldexp(1 + fraction / 8.0, exponent - 7));
}

// mxfp4, mxfp8 and nvfp4: a byte for each group, a power of two or (groups of 16) e4m3.
void small_floats_row(const WeightSource& s, int64_t row, double* out) {
  const AffineCodes& a = s.affine;
  const auto byte = [](const std::byte* p) { return std::to_integer<int>(*p); };
  for (int64_t k = 0; k < s.in; k++) {
    const int64_t i = row * s.in + k;
    const int scale = byte(a.scales + i / a.group);
    const int code = a.bits == 8 ? byte(s.data + i) : byte(s.data + i / 2) >> i % 2 * 4 & 15;
    const double number = a.bits == 8 ? e4m3(code) : (code & 8 ? -1 : 1) * kE2M1[code & 7];
    out[k] = number * (a.group == 16 ? e4m3(scale) : std::ldexp(1.0, scale - 127));
  }
}

void fp8_row(const WeightSource& s, int64_t row, double* out) {
  const BlockScales& b = s.fp8;
  const int64_t across = (s.in + b.columns - 1) / b.columns;
  for (int64_t k = 0; k < s.in; k++) {
    const int64_t block = row / b.rows * across + k / b.columns;
    const double scale = number(b.dtype, b.data + block * info(b.dtype).bytes);
    out[k] = scale * e4m3(std::to_integer<int>(s.data[row * s.in + k]));
  }
}

void affine_row(const WeightSource& s, int64_t row, double* out) {
  const AffineCodes& a = s.affine;
  const int64_t row_bytes = s.in * a.bits / 8, groups = s.in / a.group;
  const std::byte* codes = s.data + row * row_bytes;
  const int scale_bytes = info(a.scale_dtype).bytes;
  for (int64_t k = 0; k < s.in; k++) {
    uint32_t code = 0;  // bits of code k: a little-endian bit string
    for (int b = 0; b < a.bits; b++) {
      const int64_t bit = k * a.bits + b;
      code |= (std::to_integer<uint32_t>(codes[bit / 8]) >> bit % 8 & 1) << b;
    }
    const int64_t g = (row * groups + k / a.group) * scale_bytes;
    out[k] = number(a.scale_dtype, a.scales + g) * code + number(a.scale_dtype, a.biases + g);
  }
}

}  // namespace

bool ref_knows(const WeightSource& s) {
  if (s.affine.bits > 0 || s.fp8.data != nullptr) return true;
  switch (s.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ8_0:
    case DType::kMXFP4:
      return true;
    default:
      return false;
  }
}

void dequantize_row(const WeightSource& s, int64_t row, double* out) {
  const int64_t source = s.out == 1 ? 0 : s.source_row(row);
  if (s.affine.small_floats()) {
    small_floats_row(s, source, out);
  } else if (s.fp8.data != nullptr) {
    fp8_row(s, source, out);
  } else if (s.affine.bits > 0) {
    affine_row(s, source, out);
  } else {
    const DTypeInfo& i = info(s.dtype);
    const std::byte* p = s.data + source * (s.in / i.block * i.bytes);
    for (int64_t k = 0; k < s.in; k += i.block, p += i.bytes) block(s.dtype, p, out + k);
  }
  if (s.out == 1 && s.rope_heads > 0) {  // a vector: its elements are what was permuted
    const std::vector<double> stored(out, out + s.in);
    for (int64_t k = 0; k < s.in; k++) out[k] = stored[s.source_row(k)];
  }
  for (int64_t k = 0; k < s.in; k++) out[k] += s.plus;
}

}  // namespace mlxcel
