// The matmul for up to 8 rows: at memory speed.
//
// One block an SM. Of its warps, 16 multiply: each computes one part of a tile of 16 outputs, then
// the same part of another tile. All its weights come through a ring of its own in shared memory,
// filled by bulk copies across the tiles' borders: the stream never stops, and it starts before
// the rows are there, which the kernel before may still be writing. Warps whose parts or tiles
// belong together are a team. They leave their sums in shared memory and go on; four warps
// more add parts in order and store, so that no product waits for an output.
//
// What the rows are made of and what becomes of the outputs can be done here too: the norm before,
// rope and the KV cache after; both in the operations of the kernels of their own.
#pragma once

#include "kernels/matmul/matmul_rows_finish.cuh"
#include "kernels/rms_norm/rms_norm_cuda.cuh"

namespace mlxcel::gpu {

// A slot of a ring holds kChunk tiles and is filled by one bulk copy.
template <class F>
struct RowsRing {
  static constexpr int kChunk = F::kTileBytes <= 640 ? 8 : F::kTileBytes <= 2048 ? 2 : 1;
  static constexpr int kSlotBytes = kChunk * F::kTileBytes;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// A warp's weights on their way, in the order of its products. Lane 0 alone keeps count.
template <class F>
struct RowsStream {
  const RowsJob& job;
  uint32_t ring, full;  // addresses of this warp's slots and of a barrier for each
  int which, part;      // tile of the unit, part of it
  RowsUnits at;
  const uint8_t* next = nullptr;
  int left = 0;  // tiles

  // Fills `slot`, if anything is left.
  __device__ __forceinline__ void copy(int slot) {
    if (left == 0) {
      if (at.unit >= job.units) return;
      const RowsUnit r = rows_unit(job, at.unit);
      const CudaWeight& w = job.a.w[is_gated(job.a.mode) ? which : r.i];
      const int from = part_begin(w, part);
      left = part_begin(w, part + 1) - from;
      next = w.tiles + (static_cast<size_t>(rows_tile(job, r.local, which)) * w.k_tiles + from) *
                           F::kTileBytes;
      at.unit += at.stride;
    }
    const int n = min(left, RowsRing<F>::kChunk);
    copy_bulk_once(ring + slot * RowsRing<F>::kSlotBytes, next, n * F::kTileBytes, full + slot * 8);
    next += n * F::kTileBytes, left -= n;
  }
};

MLXCEL_DEVICE uint4 load_shared16(uint32_t at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(at));
  return v;
}

// A tile's products: x0 and x1 are its rows at k 0 to 31 and 32 to 63.
template <class F>
__device__ __forceinline__ void multiply_raw(const typename F::Raw& raw, int offset, uint4 x0,
                                             uint4 x1, float (&acc)[4]) {
#pragma unroll
  for (int s = 0; s < 4; s++) {
    uint32_t v[F::kTerms][4];
    F::decode(raw, s, offset, v);
    const uint4 x = s < 2 ? x0 : x1;
#pragma unroll
    for (int term = 0; term < F::kTerms; term++)
      mma(acc, v[term], s % 2 ? x.z : x.x, s % 2 ? x.w : x.y);
  }
}

// The chain of one part. Rows come from shared memory (`staged`: this lane's, a step of `row_bytes`
// for 32 k) or from where they lie.
template <class F, bool kStaged>
__device__ __forceinline__ void multiply_part(RowsStream<F>& stream, const uint8_t* ring, int& slot,
                                              uint32_t& phase, uint32_t staged, const uint8_t* x,
                                              int row_bytes, int tiles, int offset,
                                              float (&acc)[4]) {
  constexpr int kChunk = RowsRing<F>::kChunk;
  const int lane = threadIdx.x % 32;
  const auto rows_at = [&](int half) {
    return kStaged ? load_shared16(staged + half * row_bytes)
                   : *reinterpret_cast<const uint4*>(x + half * row_bytes);
  };
  for (int k = 0; k < tiles; k += kChunk) {
    uint4 early[kStaged ? 1 : kChunk][2];
    if constexpr (!kStaged) {
#pragma unroll
      for (int i = 0; i < kChunk; i++) {
        if (k + i < tiles) early[i][0] = rows_at(2 * i), early[i][1] = rows_at(2 * i + 1);
      }
    }
    bar_wait(stream.full + slot * 8, phase);
    const uint8_t* tile = ring + slot * RowsRing<F>::kSlotBytes;
    if (kStaged && k + kChunk <= tiles) {  // the next tile is on its way while one is multiplied
      typename F::Raw raw = F::load(tile, lane);
      uint4 x0 = rows_at(0), x1 = rows_at(1);
#pragma unroll
      for (int i = 0; i < kChunk; i++) {
        const typename F::Raw now = raw;
        const uint4 now0 = x0, now1 = x1;
        if (i + 1 < kChunk) {
          raw = F::load(tile + (i + 1) * F::kTileBytes, lane);
          x0 = rows_at(2 * i + 2), x1 = rows_at(2 * i + 3);
        }
        multiply_raw<F>(now, offset, now0, now1, acc);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kChunk; i++) {
        if (k + i >= tiles) break;
        const uint4 x0 = kStaged ? rows_at(2 * i) : early[kStaged ? 0 : i][0];
        const uint4 x1 = kStaged ? rows_at(2 * i + 1) : early[kStaged ? 0 : i][1];
        multiply_raw<F>(F::load(tile + i * F::kTileBytes, lane), offset, x0, x1, acc);
      }
    }
    staged += 2 * kChunk * row_bytes, x += 2 * kChunk * row_bytes;
    __syncwarp();  // every lane is done with the slot
    if (lane == 0) stream.copy(slot);
    if (++slot == stream.job.slots) slot = 0, phase ^= 1;
  }
}

// Makes the rows from what the norm reads, by the warps that multiply; block `row` also leaves them
// where others find them.
__device__ __forceinline__ void make_rows(const CudaMatmul& a, const NormGain& gain,
                                          uint32_t* rows) {
  __shared__ float sums[2][2][kNormThreads / 32];
  const CudaRmsNorm& n = a.norm;
  Operand here = a.x;
  here.words = rows;
  const int half = threadIdx.x / kNormThreads;  // two rows at once
  for (int pair = 0; pair * 2 < a.x.rows; pair++) {
    const int row = pair * 2 + half;
    if (row >= a.x.rows) continue;
    const OperandRow mine(here, row), copy(n.copy, row);
    norm_row(
        n.x + static_cast<size_t>(row) * n.dim, n.gain, gain, n.dim, n.eps,
        threadIdx.x % kNormThreads, sums[half][pair % 2],
        [&] { asm volatile("bar.sync %0, %1;" ::"r"(half + 1), "n"(kNormThreads)
                           : "memory"); },
        [&](int i, float4 v) {
          mine.put4(i, bf16_pair(v.x, v.y), bf16_pair(v.z, v.w));
          if (blockIdx.x == row % gridDim.x) store_norm(n, copy, row, i, v);
        });
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class F, bool kStaged>
__global__ void __launch_bounds__(kRowsThreads, 1)
    rows_kernel(const __grid_constant__ RowsJob job) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ RowsBars bars;
  const CudaMatmul& a = job.a;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = a.w[0].parts;
  const int team_warps = parts * job.width, teams = kRowsWarps / team_warps;
  // After the rings: sums [buffer 2][warp][lane] of 16 bytes, then rows.
  float* sums = reinterpret_cast<float*>(shared + kRowsWarps * job.slots * RowsRing<F>::kSlotBytes);
  float* here = sums + 2 * kRowsWarps * 128;
  const int team = warp / team_warps, part = warp % parts;
  const int ring_bytes = job.slots * RowsRing<F>::kSlotBytes;
  const uint8_t* ring = shared + warp * ring_bytes;
  RowsStream<F> stream = {job,
                          shared_address(ring),
                          shared_address(bars.full[warp % kRowsWarps]),
                          warp % team_warps / parts,
                          part,
                          RowsUnits(team, teams)};
  if (warp >= kRowsWarps) {
    if (warp == kRowsWarps && lane < kRowsWarps) {  // a thread for each team
      for (int i = 0; i < 2; i++) {
        bar_init(shared_address(&bars.left[lane][i]), team_warps);
        bar_init(shared_address(&bars.taken[lane][i]), (a.x.rows + 1) / 2);
      }
      if (lane == 0) bar_init(shared_address(&bars.rows), 1);
      bars_ready();
    }
  } else if (lane == 0) {
    for (int i = 0; i < kRowsSlots; i++) bar_init(stream.full + i * 8, 1);
    bars_ready();
    for (int i = 0; i < job.slots; i++) stream.copy(i);
  }
  const bool norms = kStaged && a.norm.x != nullptr;
  NormGain gain;
  if (norms && warp < kRowsWarps) gain.load(a.norm.gain, a.norm.dim, threadIdx.x % kNormThreads);
  __syncthreads();
  let_next_start();
  wait_for_inputs();
  if (warp >= kRowsWarps) return finish_rows(job, warp - kRowsWarps, teams, sums, bars);
  const int rows = a.x.rows, from = part_begin(a.w[0], part);
  const int tiles = part_begin(a.w[0], part + 1) - from;
  // This lane's rows of the part; rows past the end repeat the last one and are not used.
  const size_t mine =
      (static_cast<size_t>(from) * 2 * rows + min(lane / 4, rows - 1)) * 64 + lane % 4 * 16;
  const uint8_t* x = reinterpret_cast<const uint8_t*>(a.x.words) + mine;
  uint32_t staged = shared_address(here);
  if (norms) {
    make_rows(a, gain, reinterpret_cast<uint32_t*>(here));
    asm volatile("bar.sync 3, %0;" ::"n"(kRowsWarps * 32) : "memory");
  } else if (kStaged) {
    const uint32_t there = shared_address(&bars.rows);
    if (threadIdx.x == 0) copy_bulk(staged, a.x.words, rows * a.x.padded_k * 2, there);
    bar_wait(there, 0);
  }
  staged += static_cast<uint32_t>(mine);
  float4* left = reinterpret_cast<float4*>(sums) + warp * 32 + lane;
  int slot = 0, turn = 0;
  uint32_t phase = 0;
  for (RowsUnits at(team, teams); at.unit < job.units; at.unit += at.stride, turn++) {
    float acc[4] = {};
    multiply_part<F, kStaged>(stream, ring, slot, phase, staged, x, rows * 64, tiles, a.w[0].offset,
                              acc);
    const int buffer = turn % 2;
    bar_wait(shared_address(&bars.taken[team][buffer]), turn / 2 % 2 ^ 1);
    left[buffer * kRowsWarps * 32] = make_float4(acc[0], acc[1], acc[2], acc[3]);
    __syncwarp();
    if (lane == 0) bar_arrive(shared_address(&bars.left[team][buffer]));
  }
#endif
}

// Shared memory of a block but for rows.
template <class F>
constexpr int64_t rows_memory(int slots) {
  return int64_t{kRowsWarps} * (slots * RowsRing<F>::kSlotBytes + 1024);
}

// Whether the rows fit into shared memory beside the rings.
template <class F>
bool rows_fit(const CudaMatmul& a) {
  return rows_memory<F>(kRowsSlots) + operand_bytes(a.x.rows, a.x.k) <= kRowsMemory;
}

template <class F>
void run_rows(const CudaMatmul& a, CudaStream stream) {
  RowsJob job;
  job.a = a, job.rotates = a.rope.rows != nullptr;
  const bool gated = a.mode >= CudaMatmulMode::kGatedSilu;
  job.width = gated || job.rotates ? 2 : 1;
  for (int i = 0; i < (gated ? 1 : a.count); i++)
    job.units += job.rotates ? a.w[i].out / 32 : (a.w[i].out + 15) / 16;
  const bool fit = rows_fit<F>(a);
  const int blocks = job.units < sm_count() ? job.units : sm_count();
  // What is not asked for lets blocks of the kernels before and after share the SM.
  const int parts = a.w[0].parts, teams = kRowsWarps / (parts * job.width);
  const bool one_chunk =
      job.units <= blocks * teams && (a.w[0].k_tiles + parts - 1) / parts <= RowsRing<F>::kChunk;
  if (one_chunk) job.slots = 1;
  const int64_t shared = rows_memory<F>(job.slots) + (fit ? operand_bytes(a.x.rows, a.x.k) : 0);
  const auto kernel = fit ? rows_kernel<F, true> : rows_kernel<F, false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRowsMemory);
  launch(kernel, dim3(blocks), kRowsThreads, static_cast<int>(shared), stream, job);
}

// Whether run_rows makes the norm's rows itself: they must fit beside the rings, and as every
// block makes all of them, they must be few.
template <class F>
bool rows_can_norm(const CudaMatmul& a) {
  return a.x.tile == 0 && a.x.rows <= kNormInProduct && a.norm.copy.words != nullptr &&
         rows_fit<F>(a);
}

// Whether run_rows can rotate and store: pairs of tiles of whole heads.
inline bool rows_can_rotate(const CudaMatmul& a) {
  const CudaRopeAppend& r = a.rope;
  bool whole = a.x.tile == 0 && a.count == 3 && r.table != nullptr && r.k != nullptr &&
               r.dims == r.head_dim && r.head_dim % 32 == 0 && r.kv.key_dim == r.head_dim &&
               r.kv.value_dim == r.head_dim;
  for (int i = 0; i < a.count; i++) whole = whole && a.w[i].out % r.head_dim == 0;
  return whole;
}

}  // namespace mlxcel::gpu
