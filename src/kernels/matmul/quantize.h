// Rows of floats -> int8 in groups along K, each with a scale: the activations of a quantized
// matmul.
//
// A group is what the weight format names (group_of): 32, or 256 where the weight's scales have two
// levels. With amax the largest magnitude of the group:
//   scale = amax / 127, code = round to nearest even(x * (127 / amax)), so codes lie in [-127,
//   127]; amax < 2^-100: scale 0, codes 0 (127 / amax stays finite); a NaN or an infinity in the
//   group: scale NaN, codes 0, so that it fails visibly. sum = scale * (sum of codes), rounded
//   once.
// Memory: tiles of 4 rows, each tile its groups in order; rows after the last are not read by
// anyone.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/quant/format.h"

namespace mlxcel {

template <int kGroup>
struct Tile;  // 4 rows x one group

template <>
struct Tile<32> {
  int8_t x[4][32];
  float scale[4];
  float sum[4];      // scale * total
  int32_t total[4];  // sum of x
};

template <>
struct Tile<256> {
  int8_t x[4][256];
  float scale[4];
  int16_t part16[4][16];  // sums of 16 consecutive x
  int16_t part32[4][8];   // sums of 32
};

// k per activation group for a weight format; 0 where activations stay floats.
inline int group_of(const quant::Format& f) {
  return !quant::takes_int8(f) ? 0 : quant::two_level(f) ? 256 : 32;
}

// Bytes for `rows` quantized rows. Align to 64.
int64_t quantized_bytes(int group, int64_t rows, int64_t in);

struct QuantizeArgs {
  const float* x;               // [rows, ldx], row 0 of the whole
  int64_t ldx, in;              // REQUIRES: in % group == 0
  int group;                    // 32 or 256
  int64_t first_row, last_row;  // first_row % 4 == 0
  void* out;                    // quantized rows from row 0
};

void quantize_rows(const QuantizeArgs& args);  // one thread's share

// From the sums of 16 codes each: what a matmul needs beside codes and scale.
inline void store_sums(const int* part, int row, Tile<32>* out) {
  out->total[row] = part[0] + part[1];
  out->sum[row] = out->scale[row] * static_cast<float>(out->total[row]);
}
inline void store_sums(const int* part, int row, Tile<256>* out) {
  for (int p = 0; p < 16; p++) out->part16[row][p] = static_cast<int16_t>(part[p]);
  for (int p = 0; p < 8; p++) {
    out->part32[row][p] = static_cast<int16_t>(part[2 * p] + part[2 * p + 1]);
  }
}

// The tree of one row of one tile in plain C++.
template <int kGroup>
void quantize_group_tree(const float* x, int row, Tile<kGroup>* out) {
  float amax = 0;
  bool finite = true;
  for (int k = 0; k < kGroup; k++) {
    const float magnitude = std::fabs(x[k]);
    finite = finite && magnitude <= std::numeric_limits<float>::max();
    amax = magnitude > amax ? magnitude : amax;
  }
  const bool code = finite && amax >= 0x1p-100f;
  const float inverse = code ? 127.0f / amax : 0.0f;
  int part[kGroup / 16] = {};
  for (int k = 0; k < kGroup; k++) {
    const int q = code ? static_cast<int>(std::nearbyint(x[k] * inverse)) : 0;
    out->x[row][k] = static_cast<int8_t>(q);
    part[k / 16] += q;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  out->scale[row] = !finite ? nan : code ? amax / 127.0f : 0.0f;
  store_sums(part, row, out);
}

}  // namespace mlxcel
