// How the rows that a CUDA matmul multiplies lie in memory: bf16, in the order in which the tensor
// cores' instructions read them. K is padded to a multiple of 64 with zeros.
//
//   tile = 0, few rows: [k / 32][row][t 4][16 bytes]: k = 16 s + 8 h + 2 t + e of the 32, in the
//       order s, h, e: two B operands of mma.m16n8k16
//   tile = 16, 32, 64 or 128 rows (padded to it): [rows / tile][k / 8][tile][16 bytes]: eight k
//       of a row together, the core matrices of wgmma without swizzle
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxcel {

inline constexpr int kFewRows = 8;    // more go to the kernels that use wgmma
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
  return rows <= kFewRows ? 0 : rows <= 16 ? 16 : rows <= 32 ? 32 : rows <= 64 ? 64 : 128;
}
inline int64_t padded_operand_rows(int64_t rows) {
  const int64_t unit = rows <= kFewRows ? 1 : operand_tile(rows);
  return (rows + unit - 1) / unit * unit;
}
inline int64_t padded_operand_k(int64_t k) { return (k + kOperandK - 1) / kOperandK * kOperandK; }
inline int64_t operand_bytes(int64_t rows, int64_t k) {
  return padded_operand_rows(rows) * padded_operand_k(k) * 2;
}

#ifdef __CUDACC__
// One row of an operand: what depends on the row alone is computed once.
struct OperandRow {
  uint32_t* words;  // the row's first
  int tile, step;   // words from 8 k (few rows: 32 k) to the next
  __device__ __forceinline__ OperandRow(const Operand& o, int row) : tile(o.tile) {
    const int group = tile == 0 ? 0 : row / tile, in = row - group * tile;
    step = tile == 0 ? o.rows * 16 : tile * 4;
    words =
        o.words + static_cast<size_t>(group) * (o.padded_k / 8) * step + in * (tile == 0 ? 16 : 4);
  }
  // The word that holds k and k + 1; k is even.
  __device__ __forceinline__ uint32_t& at(int k) const {
    const int few = k / 32 * step + k % 8 / 2 * 4 + k % 32 / 8;
    return words[tile == 0 ? few : k / 8 * step + k % 8 / 2];
  }
  // Elements k to k + 3; k is a multiple of 4.
  __device__ __forceinline__ void put4(int k, uint32_t low, uint32_t high) const {
    uint32_t* to = &at(k);
    if (tile == 0) {
      to[0] = low, to[4] = high;
    } else {
      *reinterpret_cast<uint2*>(to) = make_uint2(low, high);
    }
  }
};
#endif

}  // namespace mlxcel
