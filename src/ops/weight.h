// Weights on both sides of loading: what a file holds (WeightSource) and what a backend made of it
// (Matrix, Vector).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/dtype.h"

namespace mlxcel {

// MLX's codes of b bits in groups along K, each group with a scale. Affine: and a bias, w = scale *
// code + bias. With bytes as scales (kU8) there is no bias, and codes are small floats: mxfp4,
// mxfp8, nvfp4.
struct AffineCodes {
  int bits = 0, group = 0;
  DType scale_dtype = DType::kF16;
  const std::byte* scales = nullptr;  // [out, in / group]
  const std::byte* biases = nullptr;  // [out, in / group]

  bool small_floats() const { return bits > 0 && scale_dtype == DType::kU8; }
};

// Of a matrix of e4m3: one float for each block of rows x columns.
struct BlockScales {
  DType dtype = DType::kF32;
  int64_t rows = 1, columns = 1;
  const std::byte* data = nullptr;  // [ceil(out / rows), ceil(in / columns)]
};

// One weight as its file holds it. The bytes stay mapped until the backend has repacked them.
struct WeightSource {
  std::string name;           // as the file spells it, for messages
  int64_t out = 0, in = 0;    // a vector has out = 1
  DType dtype = DType::kF32;  // of `data`; ignored when affine.bits > 0
  const std::byte* data =
      nullptr;  // [out, in], row-major, in blocks of `dtype`, or packed little-endian codes
  int64_t bytes = 0;
  AffineCodes affine;
  BlockScales fp8;

  // Called by a backend that is done with these bytes of `data`, for a file that is larger than
  // what should lie in memory twice. May be empty.
  std::function<void(const std::byte* first, int64_t bytes)> release{};

  // Transforms that a format applied to the published weight, undone while loading.
  int rope_heads = 0;  // > 0: rows of each head are stored with the two rope halves interleaved
                       // (llama-type GGUF)
  float plus =
      0;  // added to every element (Gemma: the gain is 1 + w; its GGUF already stores that)

  // The row of `data` that holds row `row` of the published weight; of a vector, the element.
  int64_t source_row(int64_t row) const {
    if (rope_heads == 0) return row;
    const int64_t head_dim = (out > 1 ? out : in) / rope_heads, half = head_dim / 2;
    const int64_t head = row / head_dim, i = row % head_dim;
    return head * head_dim + 2 * (i % half) + i / half;
  }
};

// What a backend keeps of a weight: each backend derives its own.
class WeightData {
 public:
  virtual ~WeightData() = default;
};

struct Matrix {  // [out, in]: y = W x; quantized or dense, only kernels know which
  int64_t out = 0, in = 0;
  std::shared_ptr<const WeightData> data;
};

struct Vector {  // [size]: norm gains, biases
  int64_t size = 0;
  std::shared_ptr<const WeightData> data;
};

}  // namespace mlxcel
