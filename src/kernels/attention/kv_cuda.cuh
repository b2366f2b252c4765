// Where a position lies in the KV cache, and how a pair of a head's elements is rotated.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/device.cuh"

namespace mlxcel::gpu {

// The page of one KV head that holds a row's own position.
MLXCEL_DEVICE uint16_t* own_page(const CudaKv& kv, int row, int position, int kv_head) {
  const int id = kv.tables[kv.table_at[row] + position / 64];
  const int kd = (kv.key_dim + 31) / 32 * 32, vd = (kv.value_dim + 7) / 8 * 8;
  return kv.memory + id * kv.page_elements + kv.layer_at +
         static_cast<size_t>(kv_head) * 64 * (kd + vd);
}
MLXCEL_DEVICE int key_index(const CudaKv& kv, int position, int d) {
  return position % 64 * ((kv.key_dim + 31) / 32 * 32) + d;
}
MLXCEL_DEVICE int value_index(const CudaKv& kv, int position, int d) {
  return 64 * ((kv.key_dim + 31) / 32 * 32) + d * 64 + position % 64;
}

MLXCEL_DEVICE uint16_t bf16_bits(float v) { return __bfloat16_as_ushort(__float2bfloat16_rn(v)); }

// Elements i and i + dims / 2 of a head after rotation.
MLXCEL_DEVICE float rotate_low(float u, float v, float c, float s) { return fma(u, c, -(v * s)); }
MLXCEL_DEVICE float rotate_high(float u, float v, float c, float s) { return fma(v, c, u * s); }

}  // namespace mlxcel::gpu
