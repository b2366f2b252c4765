// How the rows that a CUDA matmul multiplies lie in memory: bf16, in the order in which the tensor
// cores' instructions read them. K is padded to a multiple of 64 with zeros.
//
//   tile = 0, few rows (padded to 8): [k / 32][rows / 8][lane 32][16 bytes]: lane 4 g + t holds row
//       g, k = 16 s + 8 h + 2 t + e of the 32, in the order s, h, e: two B operands of mma.m16n8k16
//   tile = 32, 64 or 128 rows (padded to it): [rows / tile][k / 8][tile][16 bytes]: eight k of a
//   row
//       together, the core matrices of wgmma without swizzle
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxcel {

inline constexpr int kFewRows = 16;   // measured: from here on wgmma is faster
inline constexpr int kOperandK = 64;  // K is padded to a multiple of this

struct Operand {
  uint32_t* words = nullptr;  // a word holds k, k + 1
  int32_t rows = 0;           // in use
  int32_t k = 0;              // in use
  int32_t padded_k = 0;
  int32_t tile = 0;
};

// Chosen by speed: the bits of a product are the same.
inline int operand_tile(int64_t rows) {
  return rows <= kFewRows ? 0 : rows <= 32 ? 32 : rows <= 64 ? 64 : 128;
}
inline int64_t padded_operand_rows(int64_t rows) {
  const int64_t unit = rows <= kFewRows ? 8 : operand_tile(rows);
  return (rows + unit - 1) / unit * unit;
}
inline int64_t padded_operand_k(int64_t k) { return (k + kOperandK - 1) / kOperandK * kOperandK; }
inline int64_t operand_bytes(int64_t rows, int64_t k) {
  return padded_operand_rows(rows) * padded_operand_k(k) * 2;
}

#ifdef __CUDACC__
// The word of row `row` that holds k and k + 1; k is even.
__device__ __forceinline__ size_t operand_word(const Operand& o, int row, int k) {
  if (o.tile == 0) {
    const int groups = (o.rows + 7) / 8, in = k % 32;
    return (static_cast<size_t>(k / 32 * groups + row / 8) * 32 + row % 8 * 4 + in % 8 / 2) * 4 +
           in / 8;
  }
  return ((static_cast<size_t>(row / o.tile) * (o.padded_k / 8) + k / 8) * o.tile + row % o.tile) *
             4 +
         k % 8 / 2;
}
#endif

}  // namespace mlxcel
