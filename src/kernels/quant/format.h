// How a weight matrix is coded, and what a backend does with it: pack it once, then read rows or
// multiply (matmul/matmul.h).
//
// Packed layout, the same on every instruction set: SIMD lanes are outputs. Sixteen outputs form a
// block; a block is its records along K, one after the other; a record holds one weight group of
// the sixteen outputs (layout.h). Outputs after the last are padded with zeros in the last block.
// Bytes per weight stay within 3 % of the file's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace mlxcel::quant {

// How stored bits become the number that is multiplied with an activation.
enum class Code : uint8_t {
  kU2,
  kU3,
  kU4,
  kU5,
  kU6,
  kU8,     // unsigned, 2 to 8 bits
  kE2M1,   // 4 bits: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives (MXFP4, nvfp4)
  kNL4,    // 4 bits: IQ4_NL's sixteen values
  kE4M3,   // 8 bits: twice a float of base/e4m3.h (mxfp8, fp8)
  kFloat,  // not coded: f32, f16, bf16
};

// How the sub-scales of two levels are packed, for sixteen outputs.
enum class SubScales : uint8_t {
  kNone,
  kBytes,    // scales [8][16], then minima [4][16][2]: pairs of neighbours beside each other
  kNibbles,  // [8][16][2]: scale in the low, minimum in the high nibble
  kSigned,   // [8][16][2]
  kSix,      // scale + 32 in 6 bits: low nibbles [4][16][2] (pairs p, p + 4), high bits [2][16][2]
};

// One weight group as read from a file, before it is packed.
struct Group {
  uint8_t code[256];     // [group]
  int8_t sub_scale[16];  // two levels: [group / sub]
  uint8_t sub_min[16];
  std::byte scale[4];  // in the file's own width; one after the other where a group has several
  std::byte bias[4];
};

// A row of the table of formats.
struct Format {
  const char* name;
  DType dtype;  // of the file's data; kU32 for MLX's codes
  Code code;
  int bits;        // per code
  int group;       // k per record
  int sub;         // k per integer sub-scale, or per scale if there are none; 0: one level
  DType scale;     // kF16, kBF16, kF32, kU8 (a power of two, 2^(e - 127)), kF8_E4M3
  bool bias;       // a stored bias (one level) or stored minima (two levels)
  int offset;      // w = scale * (number - offset) + bias
  SubScales subs;  // two levels: how sub-scales are packed
  void (*read)(const std::byte* block, Group* out);  // one block of the file; null: read_group.h
  bool shared = false;                               // a record's sixteen outputs have one scale
};

// The rows that a pack reads: pointers into the file.
struct PackSource {
  const std::byte* data = nullptr;    // [out, in], in blocks of the format's dtype, or packed codes
  const std::byte* scales = nullptr;  // MLX: [out, in / group]; fp8: see below
  const std::byte* biases = nullptr;  // affine: [out, in / group]
  int64_t out = 0, in = 0;
  // fp8: one scale of this type for each block of rows x columns. [ceil(out / rows), ceil(in /
  // columns)]
  DType scale_type = DType::kF32;
  int64_t scale_rows = 1, scale_columns = 1;
  // Where row `row` of the weight lies in `data`; null: in order.
  int64_t (*source_row)(const void* context, int64_t row) = nullptr;
  const void* context = nullptr;
};

// The formats of files, or null where there is none.
const Format* find(DType dtype);
const Format* find_affine(int bits, int group, DType scale);
// MLX's codes of floats: mxfp4 (4 bits, groups of 32), mxfp8 (8, 32), nvfp4 (4, 16).
const Format* find_mx(int bits, int group);
// e4m3 with a scale for each block of rows x columns of [out, in].
const Format* find_fp8(int64_t rows, int64_t columns, int64_t out, int64_t in);

inline constexpr int64_t kBlock = 16;  // outputs

inline int64_t blocks(int64_t out) { return (out + kBlock - 1) / kBlock; }

// k must be a multiple of this: the group, or 1 for floats.
inline int64_t k_multiple(const Format& f) { return f.group; }

// Two levels: a record's sub-scales are integers under one scale.
inline bool two_level(const Format& f) { return f.subs != SubScales::kNone; }

// Whether activations may be rounded to int8: sums of a group's codes are integers then. Floats and
// codes of floats of 8 bits are multiplied with float activations only, and so are nvfp4's groups,
// which are smaller than an activation's.
inline bool takes_int8(const Format& f) {
  return f.code != Code::kFloat && f.code != Code::kE4M3 && (f.sub == 0 || two_level(f));
}

// REQUIRES, everywhere: in % k_multiple(format) == 0. Packed memory is 64-byte aligned, and kernels
// may prefetch (never read) past its end.
int64_t packed_bytes(const Format& f, int64_t out, int64_t in);

// Packs blocks [first, last) of sixteen outputs into `dst`, the start of the whole packed matrix.
// Different blocks may be packed by different threads at once.
void pack(const Format& f, const PackSource& source, int64_t first, int64_t last, void* dst);

// y[in]: the weights of one row. One level: fma(scale, number - offset, bias), or the product where
// no bias is stored. Two levels: fma(scale * sub_scale, number - offset, -(bias * sub_min)).
void unpack_row(const Format& f, const void* packed, int64_t in, int64_t row, float* y);

}  // namespace mlxcel::quant
