// From any weight format to MLX's: what `convert` writes. One row at a time, in plain C++.
//
//   affine  w = scale * code + bias       codes of 2 to 8 bits, groups of 32, 64 or 128
//   mxfp4   w = 2^(e - 127) * e2m1(code)  groups of 32, scales are exponent bytes
//   mxfp8   w = 2^(e - 127) * e4m3(code)  groups of 32
//   nvfp4   w = e4m3(s) * e2m1(code)      groups of 16
//
// A row's codes are a little-endian bit stream. Codes of the source are kept where the target can
// hold them; else the row is expanded to floats and quantized as mx.quantize does, bit for bit.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/quant/format.h"

namespace mlxcel::quant {

enum class MlxMode { kAffine, kMxfp4, kMxfp8, kNvfp4 };

struct MlxCoding {
  MlxMode mode = MlxMode::kAffine;
  int bits = 4, group = 32;
  DType scale = DType::kF16;  // of scales and biases; kU8 for the other modes

  int64_t code_bytes(int64_t in) const { return in * bits / 8; }
  int64_t scale_bytes(int64_t in) const { return in / group * info(scale).bytes; }
  bool operator==(const MlxCoding&) const = default;
};

// The coding that holds the format's codes as they are, with scales as `scale`; none for floats and
// for groups that MLX does not have.
std::optional<MlxCoding> kept_coding(const Format& f, DType scale);

// Null: not wanted.
struct MlxRow {
  std::byte *codes = nullptr, *scales = nullptr, *biases = nullptr;
};

enum class Recoded {
  kExact,    // every weight is the number that it was
  kRounded,  // some are not
  kRefused,  // a weight is not finite, or a scale does not fit its type
};

// Row `row` of the weight. REQUIRES: in is a multiple of both groups.
Recoded recode_row(const Format& f, const PackSource& s, int64_t row, const MlxCoding& to,
                   const MlxRow& out);

// The same as floats of type `to`: F32, F16 or BF16.
Recoded recode_row_to_floats(const Format& f, const PackSource& s, int64_t row, DType to,
                             std::byte* out);

}  // namespace mlxcel::quant
