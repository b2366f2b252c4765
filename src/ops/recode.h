// Recoder: weights from one coding to another, for what writes checkpoints (weights/convert.h).
// Backends implement it (backends/recode/), since they know how weights are coded.
#pragma once

#include <optional>

#include "base/result.h"
#include "ops/weight.h"

namespace mlxcel {

// How a checkpoint in MLX's layout holds a matrix or a vector.
struct TargetCoding {
  std::string mode = "affine";  // affine, mxfp4, mxfp8, nvfp4
  int bits = 0, group = 0;      // 0: floats
  DType dtype = DType::kF16;    // of floats, or of scales and biases; kU8 outside affine

  bool coded() const { return bits > 0; }
  bool biased() const { return coded() && mode == "affine"; }
  int64_t code_bytes(int64_t in) const { return in * bits / 8; }
  int64_t scale_bytes(int64_t in) const { return in / group * info(dtype).bytes; }
  bool operator==(const TargetCoding&) const = default;
};

// What to write, from the first of the rows on; null: not wanted. Floats go to `codes`.
struct RecodedRows {
  std::byte *codes = nullptr, *scales = nullptr, *biases = nullptr;
};

class Recoder {
 public:
  virtual ~Recoder() = default;

  // The coding that keeps the source's codes, with scales as `scales`; none: there is none.
  virtual std::optional<TargetCoding> kept(const WeightSource& source, DType scales) const = 0;
  // Bits of a code that keep about the source's precision; 0: floats.
  virtual int bits(const WeightSource& source) const = 0;
  // Writes rows [first, last) of the published weight (`plus` is the caller's). Returns whether
  // every weight is still the same number. Errors name the weight: a format that is not known,
  // rows that the groups do not divide, a number that its type cannot hold.
  virtual Result<bool> recode(const WeightSource& source, const TargetCoding& to, int64_t first,
                              int64_t last, const RecodedRows& out) = 0;
};

}  // namespace mlxcel
