// The matmul for many rows: tiles of 128 outputs x 128 rows by wgmma (sm_90a).
//
// Two warpgroups hold 64 outputs each. Weights are decoded in registers while the tensor cores work
// on the 16 k before, and are the register operand. A third warpgroup copies stages of 64 k to
// shared memory: rows by one bulk copy, weights as they lie, 16 bytes a thread. Each part is a
// chain in one set of accumulators, added to a second set at its end.
#pragma once

#include "kernels/matmul/matmul_cuda.cuh"
#include "kernels/matmul/wgmma.cuh"

namespace mlxcel::gpu {

inline constexpr int kTileThreads = 384, kTilesMemory = 220 * 1024;

template <class F, int kRows>
struct Stage {
  static constexpr int kRowBytes = kRows * 128, kBytes = kRowBytes + 8 * F::kTileBytes;
  static constexpr int kCount = kTilesMemory / kBytes < 12 ? kTilesMemory / kBytes : 12;
  // Gate and up meet in the stages at the end.
  static constexpr int kShared = kCount * kBytes > kRows * 256 ? kCount* kBytes : kRows * 256;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// What a block computes: 128 outputs of one matrix, or 64 of gate and the same 64 of up.
struct TilePlace {
  const CudaWeight* w[2];  // of each warpgroup
  int first[2];            // its first tile of 16 outputs
  int i;                   // matrix, where not gated
  __device__ TilePlace(const CudaMatmul& a, int block) : i(0) {
    if (is_gated(a.mode)) {
      w[0] = &a.w[0], w[1] = &a.w[1], first[0] = first[1] = block * 4;
      return;
    }
    for (; i < a.count - 1; i++) {
      const int blocks = (a.w[i].out + 127) / 128;
      if (block < blocks) break;
      block -= blocks;
    }
    w[0] = w[1] = &a.w[i], first[0] = block * 8, first[1] = block * 8 + 4;
  }
  // Tile of warp 0 .. 7; past the end the last one, whose outputs are not stored.
  __device__ int tile(int warp) const {
    const int last = (w[warp / 4]->out + 15) / 16 - 1;
    return min(first[warp / 4] + warp % 4, last);
  }
};

template <class F, int kRows>
__device__ __forceinline__ void feed(const CudaMatmul& a, const TilePlace& place, int first,
                                     int last, uint32_t stages, uint32_t full, uint32_t empty) {
  using S = Stage<F, kRows>;
  constexpr int kPieces = F::kTileBytes / 16;  // of 16 bytes
  const int thread = threadIdx.x % 128, k_tiles = a.w[0].k_tiles;
  const uint8_t* x = reinterpret_cast<const uint8_t*>(a.x.words) +
                     static_cast<size_t>(blockIdx.x) * k_tiles * S::kRowBytes;
  const uint8_t* from[8];
#pragma unroll
  for (int i = 0; i < 8; i++)
    from[i] = place.w[i / 4]->tiles + static_cast<size_t>(place.tile(i)) * k_tiles * F::kTileBytes;
  int stage = 0;
  uint32_t phase = 1;
  for (int k = first; k < last; k++) {
    bar_wait(empty + stage * 8, phase);
    const uint32_t to = stages + stage * S::kBytes;
    if (thread == 0)
      copy_bulk(to, x + static_cast<size_t>(k) * S::kRowBytes, S::kRowBytes, full + stage * 8);
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
      for (int c = 0; c < kPieces; c += 128) {
        // Tiles of fewer pieces than threads are shared out so that all threads have work.
        const int piece = c + (thread + i * 37) % 128;
        if (piece < kPieces) {
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                           to + S::kRowBytes + i * F::kTileBytes + piece * 16),
                       "l"(from[i] + static_cast<size_t>(k) * F::kTileBytes + piece * 16)
                       : "memory");
        }
      }
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full + stage * 8)
                 : "memory");
    if (++stage == S::kCount) stage = 0, phase ^= 1;
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// The sum of parts [first, last) of 16 outputs a warp, kRows rows.
template <class F, int kRows>
__device__ __forceinline__ void multiply_tile(const CudaWeight& w, int first, int last,
                                              const uint8_t* memory, uint32_t stages, uint32_t full,
                                              uint32_t empty, float (&sum)[kRows / 8][4]) {
  using S = Stage<F, kRows>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float acc[kRows / 8][4];
  constexpr int kSteps = F::kTerms == 1 ? 2 : 1;  // of 16 k at a time
  uint32_t a[2][kSteps][F::kTerms][4];
  int k = part_begin(w, first), stage = 0, before = -1;
  uint32_t phase = 0;
  for (int part = first; part < last; part++) {
#pragma unroll
    for (int j = 0; j < kRows / 8; j++) acc[j][0] = acc[j][1] = acc[j][2] = acc[j][3] = 0;
    for (const int end = part_begin(w, part + 1); k < end; k++) {
      bar_wait(full + stage * 8, phase);
      if constexpr (F::kDirect)
        wgmma_wait<0>();  // it still reads the registers that are filled next
      const typename F::Raw raw =
          F::load(memory + stage * S::kBytes + S::kRowBytes + warp * F::kTileBytes, lane);
#pragma unroll
      for (int s = 0; s < 4; s += kSteps) {
        auto& now = a[s / kSteps % 2];
#pragma unroll
        for (int j = 0; j < kSteps; j++) F::decode(raw, s + j, w.offset, now[j]);
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < kSteps; j++) {
#pragma unroll
          for (int term = 0; term < F::kTerms; term++)
            wgmma<kRows>(acc, now[j][term], stages + stage * S::kBytes + (s + j) * kRows * 32);
        }
        wgmma_commit();
        wgmma_wait<1>();  // the step before this one is done: its registers and stage are free
        if (s == 0 && before >= 0 && lane == 0) bar_arrive(empty + before * 8);
      }
      before = stage;
      if (++stage == S::kCount) stage = 0, phase ^= 1;
    }
    wgmma_wait<0>();
#pragma unroll
    for (int j = 0; j < kRows / 8; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) sum[j][e] = part > first ? sum[j][e] + acc[j][e] : acc[j][e];
    }
  }
}

// Blocks that computed one part each leave it; the last to come adds them all, in order. True for
// that block.
template <int kRows>
__device__ __forceinline__ bool add_parts(const CudaMatmul& a, int parts,
                                          float (&sum)[kRows / 8][4]) {
  __shared__ uint32_t came;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int unit = blockIdx.y * gridDim.x + blockIdx.x;
  float4* all = reinterpret_cast<float4*>(a.scratch) +
                (static_cast<size_t>(unit) * parts * 8 + warp) * (kRows / 8) * 32 + lane;
  constexpr int kPart = 8 * (kRows / 8) * 32;
#pragma unroll
  for (int j = 0; j < kRows / 8; j++)
    __stcg(all + blockIdx.z * kPart + j * 32,
           make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]));
  __threadfence();
  asm volatile("bar.sync 1, 256;" ::: "memory");
  if (threadIdx.x == 0) came = atomicAdd(a.counters + unit, 1);
  asm volatile("bar.sync 1, 256;" ::: "memory");
  if (came != parts - 1) return false;
  __threadfence();
  if (threadIdx.x == 0) a.counters[unit] = 0;
#pragma unroll
  for (int j = 0; j < kRows / 8; j++) {
    float4 v = __ldcg(all + j * 32);
    for (int p = 1; p < parts; p++) {
      const float4 b = __ldcg(all + p * kPart + j * 32);
      v.x = v.x + b.x, v.y = v.y + b.y, v.z = v.z + b.z, v.w = v.w + b.w;
    }
    sum[j][0] = v.x, sum[j][1] = v.y, sum[j][2] = v.z, sum[j][3] = v.w;
  }
  return true;
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class F, int kRows>
__global__ void __launch_bounds__(kTileThreads, 1)
    tiles_kernel(const __grid_constant__ CudaMatmul a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using S = Stage<F, kRows>;
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ __align__(8) uint64_t bars[2 * S::kCount];
  const uint32_t stages = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
  const uint32_t full = static_cast<uint32_t>(__cvta_generic_to_shared(bars));
  const uint32_t empty = full + S::kCount * 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kCount; i++) bar_init(full + i * 8, 129), bar_init(empty + i * 8, 8);
    bars_ready();
  }
  __syncthreads();
  let_next_start();
  wait_for_inputs();
  const TilePlace place(a, blockIdx.y);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4;
  // A part a block where gridDim.z says so, else all parts.
  const int parts = a.w[0].parts, first = gridDim.z > 1 ? blockIdx.z : 0;
  const int last = gridDim.z > 1 ? first + 1 : parts;
  if (group == 2) {
    feed<F, kRows>(a, place, part_begin(a.w[0], first), part_begin(a.w[0], last), stages, full,
                   empty);
    return;
  }
  float sum[kRows / 8][4];
  multiply_tile<F, kRows>(*place.w[group], first, last, memory, stages, full, empty, sum);
  if (gridDim.z > 1 && !add_parts<kRows>(a, parts, sum)) return;
  const int tile = place.first[group] + warp % 4;
  const int row = blockIdx.x * kRows + lane % 4 * 2, out = tile * 16 + lane / 4;
  if (!is_gated(a.mode)) return finish_all<kRows / 8>(a, place.i, row, out, sum);
  // All stages are read: the groups exchange halves of their sums where they were, so that both
  // finish outputs. Rows 0 to kRows / 2 - 1 of the tile go to group 0.
  constexpr int kHalf = kRows / 16;
  float4* meet = reinterpret_cast<float4*>(memory) + warp * kHalf * 32 + lane;
  asm volatile("bar.sync 1, 256;" ::: "memory");
#pragma unroll
  for (int j = 0; j < kHalf; j++) {
    const float4 low = make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
    const float4 high =
        make_float4(sum[kHalf + j][0], sum[kHalf + j][1], sum[kHalf + j][2], sum[kHalf + j][3]);
    meet[j * 32] = group == 0 ? high : low;
  }
  asm volatile("bar.sync 1, 256;" ::: "memory");
  const float4* theirs = reinterpret_cast<const float4*>(memory) + (warp ^ 4) * kHalf * 32 + lane;
  float gate[kHalf][4], up[kHalf][4];
#pragma unroll
  for (int j = 0; j < kHalf; j++) {
    const float4 v = theirs[j * 32];
    const float other[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int e = 0; e < 4; e++) {
      gate[j][e] = group == 0 ? sum[j][e] : other[e];
      up[j][e] = group == 0 ? other[e] : sum[kHalf + j][e];
    }
  }
  finish_gated_all<kHalf>(a, row + group * (kRows / 2), out, gate, up);
#endif
}

template <class F, int kRows>
void run_tiles(const CudaMatmul& a, CudaStream stream) {
  const bool gated = a.mode >= CudaMatmulMode::kGatedSilu;
  int blocks = gated ? (a.w[0].out + 63) / 64 : 0;
  for (int i = 0; !gated && i < a.count; i++) blocks += (a.w[i].out + 127) / 128;
  constexpr int kShared = Stage<F, kRows>::kShared;
  cudaFuncSetAttribute(tiles_kernel<F, kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kShared);
  // Too few blocks to fill the GPU: a part each.
  const int tiles = (a.x.rows + kRows - 1) / kRows, parts = a.w[0].parts;
  const int64_t scratch = int64_t{tiles} * blocks * parts * 128 * kRows * 4;
  const bool split = parts > 1 && tiles * blocks <= 112 && scratch <= a.scratch_bytes;
  launch(tiles_kernel<F, kRows>, dim3(tiles, blocks, split ? parts : 1), kTileThreads, kShared,
         stream, a);
}

}  // namespace mlxcel::gpu
