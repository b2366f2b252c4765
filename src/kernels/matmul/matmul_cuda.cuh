// What both matmul kernels share: the tensor cores' instructions and what happens to a finished
// output.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/matmul/matmul_cuda.h"
#include "kernels/quant/fragment.cuh"

namespace mlxcel::gpu {

MLXCEL_DEVICE void mma(float (&c)[4], const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

MLXCEL_DEVICE bool is_gated(CudaMatmulMode m) { return m >= CudaMatmulMode::kGatedSilu; }

MLXCEL_DEVICE void store_copy(const OperandRow& row, int k, float v) {
  reinterpret_cast<__nv_bfloat16*>(&row.at(k & ~1))[k & 1] = __float2bfloat16_rn(v);
}

// Output `n` of row `row`, after the sum of its parts; `old`: what is there, where the mode adds.
MLXCEL_DEVICE void finish(const CudaMatmul& a, int i, int row, int n, float sum, float old) {
  const CudaWeight& w = a.w[i];
  if (row >= a.x.rows || n >= w.out) return;
  float v = sum * w.factor;
  if (a.bias[i] != nullptr) v = v + a.bias[i][n];
  a.y[i][static_cast<size_t>(row) * w.out + n] = a.mode == CudaMatmulMode::kAdd ? old + v : v;
}

MLXCEL_DEVICE void finish_gated(const CudaMatmul& a, int row, int n, float gate, float up) {
  if (row >= a.x.rows || n >= a.w[0].out) return;
  const float g = gate * a.w[0].factor, u = up * a.w[1].factor;
  const float v = (a.mode == CudaMatmulMode::kGatedSilu ? silu(g) : gelu_tanh(g)) * u;
  a.y[0][static_cast<size_t>(row) * a.w[0].out + n] = v;
  if (a.copy.words != nullptr) store_copy(OperandRow(a.copy, row), n, v);
}

// The same for all that a thread of `tiles` holds: rows row + 8 j + e % 2, outputs out + e / 2 * 8.
// Loads of sixteen come before their stores, since each takes as long as all.
template <int kTiles>
MLXCEL_DEVICE void finish_all(const CudaMatmul& a, int i, int row, int out,
                              float (&sum)[kTiles][4]) {
  const CudaWeight& w = a.w[i];
  const int rows = a.x.rows, outs = w.out;
  const float factor = w.factor;
  const float* bias = a.bias[i];
  const bool adds = a.mode == CudaMatmulMode::kAdd;
  const float b[2] = {bias != nullptr && out < outs ? bias[out] : 0,
                      bias != nullptr && out + 8 < outs ? bias[out + 8] : 0};
  float* y = a.y[i] + static_cast<size_t>(row) * outs + out;
  constexpr int kStep = kTiles < 4 ? kTiles : 4;
#pragma unroll
  for (int j0 = 0; j0 < kTiles; j0 += kStep) {
    float old[kStep][4];
#pragma unroll
    for (int j = 0; j < kStep; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int r = (j0 + j) * 8 + e % 2, n = e / 2 * 8;
        old[j][e] =
            adds && row + r < rows && out + n < outs ? y[static_cast<size_t>(r) * outs + n] : 0;
      }
    }
#pragma unroll
    for (int j = 0; j < kStep; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int r = (j0 + j) * 8 + e % 2, n = e / 2 * 8;
        float v = sum[j0 + j][e] * factor;
        if (bias != nullptr) v = v + b[e / 2];
        if (adds) v = old[j][e] + v;
        if (row + r < rows && out + n < outs) y[static_cast<size_t>(r) * outs + n] = v;
      }
    }
  }
}

template <int kTiles>
MLXCEL_DEVICE void finish_gated_all(const CudaMatmul& a, int row, int out,
                                    const float (&gate)[kTiles][4], const float (&up)[kTiles][4]) {
  const int rows = a.x.rows, outs = a.w[0].out;
  const float f0 = a.w[0].factor, f1 = a.w[1].factor;
  const bool is_silu = a.mode == CudaMatmulMode::kGatedSilu;
  float* y = a.y[0] + static_cast<size_t>(row) * outs + out;
  // Rows of a thread lie in one tile of the copy, 16 bytes apart; outputs 8 apart one k / 8 apart.
  __nv_bfloat16* copy = reinterpret_cast<__nv_bfloat16*>(a.copy.words);
  if (copy != nullptr)
    copy = reinterpret_cast<__nv_bfloat16*>(&OperandRow(a.copy, row).at(out & ~1)) + (out & 1);
  const size_t chunk = static_cast<size_t>(a.copy.tile) * 8;
#pragma unroll
  for (int j = 0; j < kTiles; j++) {
    float v[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const float g = gate[j][e] * f0, u = up[j][e] * f1;
      v[e] = (is_silu ? silu(g) : gelu_tanh(g)) * u;
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int r = j * 8 + e % 2, n = e / 2 * 8;
      if (row + r >= rows || out + n >= outs) continue;
      y[static_cast<size_t>(r) * outs + n] = v[e];
      if (copy != nullptr) copy[r * 8 + e / 2 * chunk] = __float2bfloat16_rn(v[e]);
    }
  }
}

// Tiles of 64 k of part p: [first(p), first(p + 1)).
MLXCEL_DEVICE int part_begin(const CudaWeight& w, int p) { return w.k_tiles * p / w.parts; }

}  // namespace mlxcel::gpu
