#include "kernels/quant/recode.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"
#include "kernels/quant/read_group.h"

namespace mlxcel::quant {
namespace {

constexpr double kE2M1Most = 6, kE4M3Most = 448;

// A part of a group whose weights share scale and bias: w = scale * number + bias.
struct Part {
  double scale = 0, bias = 0;
};

Part part_of(const Format& f, const Group& g, int k) {
  Part p;
  const int several = two_level(f) || f.sub == 0 ? 0 : k / f.sub;
  p.scale = scale_at(f.scale, g.scale + several * scale_bytes(f.scale), 0);
  if (f.bias) p.bias = scale_at(f.scale, g.bias, 0);
  if (two_level(f)) {
    const int s = k / f.sub;
    p.bias *= -g.sub_min[s];
    p.scale *= g.sub_scale[s];
  }
  return p;  // products of an f16 and a byte: exact, in float too
}

int64_t stored_row(const PackSource& s, int64_t row) {
  return s.source_row == nullptr ? row : s.source_row(s.context, row);
}

// The weights of a row, exact. [in]
void expand(const Format& f, const PackSource& s, int64_t row, double* w) {
  const int64_t stored = stored_row(s, row);
  if (f.code == Code::kFloat) {
    const auto* data = reinterpret_cast<const uint8_t*>(s.data);
    const int width = scale_bytes(f.dtype);
    for (int64_t k = 0; k < s.in; k++)
      w[k] = scale_at(f.dtype, data + (stored * s.in + k) * width, 0);
    return;
  }
  Group g;
  for (int64_t i = 0; i < s.in / f.group; i++) {
    read_group(f, s, stored, i, &g);
    for (int k = 0; k < f.group; k++) {
      const Part p = part_of(f, g, k);
      w[i * f.group + k] = p.scale * (value_of(f.code, g.code[k]) - f.offset) + p.bias;
    }
  }
}

// Stores `value` as `type` (F32, F16, BF16) and returns what was stored.
double store_float(DType type, double value, uint8_t* bytes) {
  const auto f = static_cast<float>(value);
  if (type == DType::kF32) {
    std::memcpy(bytes, &f, 4);
    return f;
  }
  const uint16_t h = type == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
  std::memcpy(bytes, &h, 2);
  return type == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

// Writes a row's codes, scales and biases one group at a time, and remembers the worst outcome.
class Writer {
 public:
  Writer(const MlxCoding& to, const MlxRow& out) : to_(to), out_(out) {}

  void codes(int64_t group, const uint8_t* code) {
    if (out_.codes == nullptr) return;
    auto* p = reinterpret_cast<uint8_t*>(out_.codes) + group * to_.group * to_.bits / 8;
    uint32_t window = 0;
    for (int k = 0, have = 0; k < to_.group; k++) {
      window |= static_cast<uint32_t>(code[k]) << have;
      for (have += to_.bits; have >= 8; have -= 8)
        *p++ = static_cast<uint8_t>(window), window >>= 8;
    }
  }
  // Both return what was stored.
  double scale(int64_t group, double value) { return number(out_.scales, group, value); }
  double bias(int64_t group, double value) { return number(out_.biases, group, value); }
  void byte(int64_t group, uint8_t value) {
    if (out_.scales != nullptr) out_.scales[group] = static_cast<std::byte>(value);
  }
  void note(Recoded r) { worst_ = std::max(worst_, r); }
  Recoded worst() const { return worst_; }

 private:
  double number(std::byte* to, int64_t i, double value) {
    uint8_t bytes[4];
    const double stored = store_float(to_.scale, value, bytes);
    if (to != nullptr) {
      const int width = scale_bytes(to_.scale);
      std::memcpy(to + i * width, bytes, static_cast<size_t>(width));
    }
    note(!std::isfinite(stored) ? Recoded::kRefused
         : stored == value      ? Recoded::kExact
                                : Recoded::kRounded);
    return stored;
  }

  const MlxCoding to_;
  const MlxRow out_;
  Recoded worst_ = Recoded::kExact;
};

// Codes as they are. A group of the target lies inside a group or a sub-group of the source.
void keep(const Format& f, const PackSource& s, int64_t row, const MlxCoding& to, Writer& writer) {
  Group g;
  for (int64_t i = 0; i < s.in / f.group; i++) {
    read_group(f, s, row, i, &g);
    if (f.code == Code::kNL4) {
      for (int k = 0; k < f.group; k++)
        g.code[k] = static_cast<uint8_t>(kNL4Values[g.code[k]] + 128);
    }
    for (int k = 0; k < f.group; k += to.group) {
      const int64_t at = (i * f.group + k) / to.group;
      writer.codes(at, g.code + k);
      if (to.mode != MlxMode::kAffine) {
        writer.byte(at, std::to_integer<uint8_t>(g.scale[k / to.group]));
        continue;
      }
      const Part p = part_of(f, g, k);
      const int zero = f.code == Code::kNL4 ? 128 : f.offset;
      writer.scale(at, p.scale);
      writer.bias(at, p.bias - p.scale * zero);
    }
  }
}

struct Range {
  float low, high;
};

Range range_of(const float* w, int n) {
  const auto [low, high] = std::minmax_element(w, w + n);
  return {*low, *high};
}

// The larger end of the range is a code times the scale, so that it and zero are kept.
void affine_group(const float* w, const double* exact, const MlxCoding& to, int64_t at,
                  Writer& writer) {
  const auto most = static_cast<float>((1 << to.bits) - 1);
  const Range r = range_of(w, to.group);
  const bool low = std::fabs(r.low) > std::fabs(r.high);
  const float step = std::max((r.high - r.low) / most, 1e-7f), edge = low ? r.low : r.high;
  float scale = low ? step : -step;
  const float zero = std::nearbyint(edge / scale), bias = zero == 0 ? 0 : edge;
  if (zero != 0) scale = edge / zero;
  uint8_t code[128];
  for (int k = 0; k < to.group; k++)
    code[k] = static_cast<uint8_t>(std::clamp(std::nearbyint((w[k] - bias) / scale), 0.0f, most));
  writer.codes(at, code);
  // What counts is the weight, not whether the quotient that its scale came from was rounded.
  Writer unseen(to, {});
  const double kept_scale = unseen.scale(at, scale), kept_bias = unseen.bias(at, bias);
  for (int k = 0; k < to.group; k++)
    if (kept_scale * code[k] + kept_bias != exact[k]) writer.note(Recoded::kRounded);
  writer.scale(at, kept_scale), writer.bias(at, kept_bias);
}

// x >= 0 to the nearest magnitude, ties to the even code.
int to_e4m3(double x) {
  if (x >= kE4M3Most) return 126;
  int exponent;
  std::frexp(x, &exponent);  // x < 2^exponent
  const int unit = std::max(exponent - 4, -9);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(x, -unit)));
  return unit == -9 ? steps : (unit + 9) * 8 + steps;  // a carry runs into the exponent
}

// x >= 0 to the nearest magnitude, ties to the lower one.
int to_e2m1(double x) {
  int code = 7;
  while (code > 0 && x <= 0.25 * (kE2M1Values[code] + kE2M1Values[code - 1])) code--;
  return code;
}

// 2^e is the least power of two under which the largest weight fits the codes. `top` = their most.
int exponent_byte(float largest, double top) {
  if (largest == 0) return 127;
  int exponent;
  const float mantissa = std::frexp(largest / static_cast<float>(top), &exponent);
  return std::clamp(mantissa == 0.5f ? exponent - 1 : exponent, -127, 127) + 127;
}

void float_code_group(const float* w, const double* exact, const MlxCoding& to, int64_t at,
                      Writer& writer) {
  const Range r = range_of(w, to.group);
  const float largest = std::max(std::fabs(r.low), std::fabs(r.high));
  const bool four = to.bits == 4;
  const double top = four ? kE2M1Most : kE4M3Most;
  double scale;
  if (to.mode == MlxMode::kNvfp4) {
    const int code = to_e4m3(largest / static_cast<float>(top));
    scale = kE4M3[code];
    writer.byte(at, static_cast<uint8_t>(code));
  } else {
    const int e = exponent_byte(largest, top);
    scale = std::ldexp(1.0, e - 127);
    writer.byte(at, static_cast<uint8_t>(e));
  }
  uint8_t codes[32];
  for (int k = 0; k < to.group; k++) {
    const double x = scale == 0 ? 0 : std::fabs(static_cast<double>(w[k]) / scale);
    const int code = four ? to_e2m1(x) : to_e4m3(std::min(x, top));
    const bool minus = std::signbit(w[k]) && (code != 0 || !four);
    codes[k] = static_cast<uint8_t>(code | (minus ? four ? 8 : 128 : 0));
    const double kept = scale * (four ? 0.5 * kE2M1Values[code] : kE4M3[code]);
    if ((minus ? -kept : kept) != exact[k]) writer.note(Recoded::kRounded);
  }
  writer.codes(at, codes);
}

}  // namespace

std::optional<MlxCoding> kept_coding(const Format& f, DType scale) {
  if (f.code == Code::kFloat) return std::nullopt;
  if (f.code == Code::kE4M3 && f.dtype != DType::kU32) return std::nullopt;
  if (f.code == Code::kE4M3) return MlxCoding{MlxMode::kMxfp8, 8, 32, DType::kU8};
  if (f.code == Code::kE2M1 && f.sub > 0) return MlxCoding{MlxMode::kNvfp4, 4, 16, DType::kU8};
  if (f.code == Code::kE2M1) return MlxCoding{MlxMode::kMxfp4, 4, 32, DType::kU8};
  const int group = f.sub > 0 ? f.sub : f.group;
  if (group < 32) return std::nullopt;
  return MlxCoding{MlxMode::kAffine, f.code == Code::kNL4 ? 8 : f.bits, group, scale};
}

Recoded recode_row(const Format& f, const PackSource& s, int64_t row, const MlxCoding& to,
                   const MlxRow& out) {
  Writer writer(to, out);
  if (kept_coding(f, to.scale) == to) {
    keep(f, s, stored_row(s, row), to, writer);
    return writer.worst();
  }
  std::vector<double> exact(static_cast<size_t>(s.in));
  expand(f, s, row, exact.data());
  std::vector<float> w(exact.begin(), exact.end());
  for (const float x : w) {
    if (!std::isfinite(x)) return Recoded::kRefused;
  }
  for (int64_t g = 0; g < s.in / to.group; g++) {
    const int64_t k = g * to.group;
    (to.mode == MlxMode::kAffine ? affine_group : float_code_group)(
        &w[static_cast<size_t>(k)], &exact[static_cast<size_t>(k)], to, g, writer);
  }
  return writer.worst();
}

Recoded recode_row_to_floats(const Format& f, const PackSource& s, int64_t row, DType to,
                             std::byte* out) {
  std::vector<double> w(static_cast<size_t>(s.in));
  expand(f, s, row, w.data());
  Recoded worst = Recoded::kExact;
  const int width = scale_bytes(to);
  for (int64_t k = 0; k < s.in; k++) {
    uint8_t bytes[4];
    const double kept = store_float(to, w[static_cast<size_t>(k)], bytes);
    std::memcpy(out + k * width, bytes, static_cast<size_t>(width));
    if (!std::isfinite(kept)) return Recoded::kRefused;
    if (kept != w[static_cast<size_t>(k)]) worst = Recoded::kRounded;
  }
  return worst;
}

}  // namespace mlxcel::quant
