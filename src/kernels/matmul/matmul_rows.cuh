// The matmul for up to 16 rows: at memory speed.
//
// A warp computes one part of a tile of 16 outputs. It copies the part's weights from memory to a
// ring of its own in shared memory, kAhead tiles before they are used (they come before the rows,
// which the kernel before may still be writing), and reads rows from L1. The warps of a block meet
// in shared memory, where parts are added in order.
#pragma once

#include "kernels/matmul/matmul_cuda.cuh"

namespace mlxcel::gpu {

template <class F>
struct RowsRing {
  static constexpr int kAhead = F::kTileBytes <= 640 ? 8 : F::kTileBytes <= 1536 ? 4 : 3;
  static constexpr int kBytes = kAhead * F::kTileBytes;

  uint8_t* ring;  // of this warp
  uint32_t to;    // its address
  const uint8_t* next;
  int left, slot = 0;

  // One group of copies, empty where nothing is left, so that groups can be counted.
  __device__ __forceinline__ void issue(int lane) {
    if (left > 0) {
#pragma unroll
      for (int c = 0; c < F::kTileBytes; c += 512) {
        if (c + 512 <= F::kTileBytes || c + lane * 16 < F::kTileBytes)
          copy16(to + slot * F::kTileBytes + c + lane * 16, next + c + lane * 16);
      }
      next += F::kTileBytes, left--;
      slot = slot + 1 == kAhead ? 0 : slot + 1;
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  __device__ __forceinline__ void start(const CudaWeight& w, int tile, int part, int lane) {
    const int from = part_begin(w, part);
    left = part_begin(w, part + 1) - from;
    next = w.tiles + (static_cast<size_t>(tile) * w.k_tiles + from) * F::kTileBytes;
#pragma unroll
    for (int i = 0; i < kAhead - 1; i++) issue(lane);
  }
};

template <class F, int kGroups>
__device__ __forceinline__ void multiply_part(RowsRing<F>& ring, const CudaMatmul& a,
                                              const CudaWeight& w, int part, int lane,
                                              float (&acc)[kGroups][4]) {
  const int groups = (a.x.rows + 7) / 8, from = part_begin(w, part), to = part_begin(w, part + 1);
  const uint4* x = reinterpret_cast<const uint4*>(a.x.words) +
                   static_cast<size_t>(from) * 2 * groups * 32 + lane;
  // Rows come from L2, so they are asked for kEarly tiles before they are used.
  constexpr int kEarly = kGroups == 1 ? 4 : 2;
  uint4 b[kEarly][2][kGroups];
  const auto load_rows = [&](uint4(&to_fill)[2][kGroups]) {
#pragma unroll
    for (int half = 0; half < 2; half++, x += groups * 32) {
#pragma unroll
      for (int n = 0; n < kGroups; n++)  // only rows in use are read
        if (n * 8 + lane / 4 < a.x.rows) to_fill[half][n] = x[n * 32];
    }
  };
#pragma unroll
  for (int i = 0; i < kEarly; i++) {
#pragma unroll
    for (int n = 0; n < kGroups; n++) b[i][0][n] = b[i][1][n] = make_uint4(0, 0, 0, 0);
    if (from + i < to) load_rows(b[i]);
  }
  int slot = 0;
  for (int k0 = from; k0 < to; k0 += kEarly) {
#pragma unroll
    for (int i = 0; i < kEarly; i++) {
      if (k0 + i >= to) break;
      // All but the newest kAhead - 2 groups have landed: this tile's too. The slot of the tile
      // before is free, since every lane has used it.
      asm volatile("cp.async.wait_group %0;" ::"n"(RowsRing<F>::kAhead - 2) : "memory");
      __syncwarp();
      ring.issue(lane);
      const typename F::Raw raw = F::load(ring.ring + slot * F::kTileBytes, lane);
      slot = slot + 1 == RowsRing<F>::kAhead ? 0 : slot + 1;
#pragma unroll
      for (int s = 0; s < 4; s++) {
        uint32_t v[F::kTerms][4];
        F::decode(raw, s, w.offset, v);
#pragma unroll
        for (int term = 0; term < F::kTerms; term++) {
#pragma unroll
          for (int n = 0; n < kGroups; n++) {
            const uint4 y = b[i][s / 2][n];
            mma(acc[n], v[term], s % 2 ? y.z : y.x, s % 2 ? y.w : y.y);
          }
        }
      }
      if (k0 + i + kEarly < to) load_rows(b[i]);
    }
  }
}

// A block: blockDim / 32 / parts tiles, one after the other over all matrices; where gated, the
// same tile of gate and up.
template <class F, int kGroups>
__global__ void __launch_bounds__(512, 2) rows_kernel(CudaMatmul a) {
  extern __shared__ __align__(128) uint8_t shared[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = a.w[0].parts;
  const int part = warp % parts, slot = warp / parts, slots = blockDim.x / 32 / parts;
  const bool gated = is_gated(a.mode);
  // Which matrix and tile a slot of the block computes; i = count past the last.
  const auto place = [&](int s, int& i, int& tile) {
    if (gated) {
      i = s % 2, tile = blockIdx.x * (slots / 2) + s / 2;
      if (tile * 16 >= a.w[0].out) i = a.count;
      return;
    }
    tile = blockIdx.x * slots + s;
    for (i = 0; i < a.count; i++) {
      const int tiles = (a.w[i].out + 15) / 16;
      if (tile < tiles) return;
      tile -= tiles;
    }
  };
  int i, tile;
  place(slot, i, tile);
  const bool used = i < a.count;
  const CudaWeight& w = a.w[used ? i : 0];
  RowsRing<F> ring;
  ring.ring = shared + warp * RowsRing<F>::kBytes;
  ring.to = static_cast<uint32_t>(__cvta_generic_to_shared(ring.ring));
  if (used) ring.start(w, tile, part, lane);
  let_next_start();
  wait_for_inputs();
  float acc[kGroups][4] = {};
  if (used) multiply_part<F, kGroups>(ring, a, w, part, lane, acc);
  // [tile][part][group][lane], after the rings
  float4* sums = reinterpret_cast<float4*>(shared + blockDim.x / 32 * RowsRing<F>::kBytes);
#pragma unroll
  for (int n = 0; n < kGroups; n++)
    sums[(warp * kGroups + n) * 32 + lane] =
        make_float4(acc[n][0], acc[n][1], acc[n][2], acc[n][3]);
  __syncthreads();
  const auto total = [&](int s, int n, int l) {
    const float4* p = sums + (s * parts * kGroups + n) * 32 + l;
    float4 v = p[0];
    for (int q = 1; q < parts; q++) {
      const float4 b = p[q * kGroups * 32];
      v.x = v.x + b.x, v.y = v.y + b.y, v.z = v.z + b.z, v.w = v.w + b.w;
    }
    return v;
  };
  const int step = gated ? 2 : 1;
  for (int at = threadIdx.x; at < slots / step * kGroups * 32; at += blockDim.x) {
    const int l = at % 32, n = at / 32 % kGroups, s = at / 32 / kGroups * step;
    place(s, i, tile);
    const int row = n * 8 + l % 4 * 2, out = tile * 16 + l / 4;
    if (i >= a.count || row >= a.x.rows) continue;
    const float4 v = total(s, n, l);
    if (gated) {
      const float4 u = total(s + 1, n, l);
      finish_gated(a, row, out, v.x, u.x), finish_gated(a, row + 1, out, v.y, u.y);
      finish_gated(a, row, out + 8, v.z, u.z), finish_gated(a, row + 1, out + 8, v.w, u.w);
    } else {
      finish(a, i, row, out, v.x), finish(a, i, row + 1, out, v.y);
      finish(a, i, row, out + 8, v.z), finish(a, i, row + 1, out + 8, v.w);
    }
  }
}

template <class F, int kGroups>
void run_rows(const CudaMatmul& a, CudaStream stream) {
  const bool gated = a.mode >= CudaMatmulMode::kGatedSilu;
  const int parts = a.w[0].parts, slots = gated ? (parts == 8 ? 2 : 8 / parts) : 8 / parts;
  int tiles = 0;
  for (int i = 0; i < (gated ? 1 : a.count); i++) tiles += (a.w[i].out + 15) / 16;
  const int per_block = gated ? slots / 2 : slots, warps = slots * parts;
  const int shared = warps * (RowsRing<F>::kBytes + kGroups * 512);
  cudaFuncSetAttribute(rows_kernel<F, kGroups>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       shared);
  launch(rows_kernel<F, kGroups>, dim3((tiles + per_block - 1) / per_block), warps * 32, shared,
         stream, a);
}

template <class F>
void run_rows(const CudaMatmul& a, CudaStream stream) {
  static_assert(kFewRows == 16);
  a.x.rows <= 8 ? run_rows<F, 1>(a, stream) : run_rows<F, 2>(a, stream);
}

}  // namespace mlxcel::gpu
