// The matmul for up to 8 rows: at memory speed.
//
// One block an SM, 16 warps that stay. A warp computes one part of a tile of 16 outputs, then the
// same part of another tile. All its weights come through a ring of its own in shared memory,
// filled by bulk copies across the tiles' borders: the stream never stops, and it starts before
// the rows are there, which the kernel before may still be writing. Warps whose parts or tiles
// belong together (a team) meet in shared memory, where parts are added in order.
//
// What the rows are made of and what becomes of the outputs can be done here too: the norm before,
// rope and the KV cache after; both in the operations of the kernels of their own.
#pragma once

#include "kernels/attention/kv_cuda.cuh"
#include "kernels/matmul/matmul_cuda.cuh"
#include "kernels/matmul/wgmma.cuh"
#include "kernels/rms_norm/rms_norm_cuda.cuh"

namespace mlxcel::gpu {

inline constexpr int kRowsWarps = 16, kRowsThreads = kRowsWarps * 32;
inline constexpr int kRowsMemory = 226 * 1024;
inline constexpr int kRowsSlots = 2;  // of a warp's ring: a longer queue delays the rows

struct RowsJob {
  CudaMatmul a;
  int32_t units = 0;  // pieces of work of a team, over all matrices
  int32_t width = 1;  // tiles of a unit: two where gated or rotated
  int32_t rotates = 0;
};

// What a team computes: tile(0) and, where the unit has two, tile(1).
struct RowsUnit {
  int i = 0, local = 0;  // matrix, unit within it
};

__device__ __forceinline__ RowsUnit rows_unit(const RowsJob& job, int u) {
  RowsUnit r;
  if (is_gated(job.a.mode)) return {0, u};
  for (; r.i < job.a.count - 1; r.i++) {
    const int units = job.rotates ? job.a.w[r.i].out / 32 : (job.a.w[r.i].out + 15) / 16;
    if (u < units) break;
    u -= units;
  }
  r.local = u;
  return r;
}
// Rotated elements i and i + head_dim / 2 of a head make a unit.
__device__ __forceinline__ int rows_tile(const RowsJob& job, int local, int which) {
  if (!job.rotates) return local;
  const int half = job.a.rope.head_dim / 32;  // tiles of half a head
  return local / half * 2 * half + local % half + which * half;
}

// A warp's weights on their way: slots of kChunk tiles, each filled by one bulk copy. Lane 0 alone
// keeps count.
template <class F>
struct RowsRing {
  static constexpr int kChunk = F::kTileBytes <= 640 ? 8 : F::kTileBytes <= 2048 ? 2 : 1;
  static constexpr int kSlotBytes = kChunk * F::kTileBytes;

  const RowsJob& job;
  uint32_t ring, full;  // addresses of this warp's slots and of a barrier for each
  int unit, stride, which, part;
  const uint8_t* next = nullptr;
  int left = 0;

  // Fills `slot`, if anything is left.
  __device__ __forceinline__ void issue(int slot) {
    if (left == 0) {
      if (unit >= job.units) return;
      const RowsUnit r = rows_unit(job, unit);
      const CudaWeight& w = job.a.w[is_gated(job.a.mode) ? which : r.i];
      const int from = part_begin(w, part);
      left = part_begin(w, part + 1) - from;
      next = w.tiles + (static_cast<size_t>(rows_tile(job, r.local, which)) * w.k_tiles + from) *
                           F::kTileBytes;
      unit += stride;
    }
    const int n = min(left, kChunk);
    copy_bulk_once(ring + slot * kSlotBytes, next, n * F::kTileBytes, full + slot * 8);
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
__device__ __forceinline__ void multiply_part(RowsRing<F>& ring, const uint8_t* memory, int& slot,
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
    bar_wait(ring.full + slot * 8, phase);
    const uint8_t* tile = memory + slot * RowsRing<F>::kSlotBytes;
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
    if (lane == 0) ring.issue(slot);
    if (++slot == kRowsSlots) slot = 0, phase ^= 1;
  }
}

// Makes the rows from what the norm reads; block `row` also leaves them where others find them.
__device__ __forceinline__ void make_rows(const CudaMatmul& a, uint32_t* rows) {
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
        n.x + static_cast<size_t>(row) * n.dim, n.gain, n.dim, n.eps, threadIdx.x % kNormThreads,
        sums[half][pair % 2],
        [&] { asm volatile("bar.sync %0, %1;" ::"r"(half + 1), "n"(kNormThreads)
                           : "memory"); },
        [&](int i, float4 v) {
          mine.at(i) = bf16_pair(v.x, v.y), mine.at(i + 2) = bf16_pair(v.z, v.w);
          if (blockIdx.x == row % gridDim.x) store_norm(n, copy, row, i, v);
        });
  }
}

// What an output needs from memory besides its sum, asked for before the sum is there.
struct RowsEarly {
  float old = 0, cosine = 0, sine = 0;
  uint16_t* page = nullptr;
  int position = 0;
};

__device__ __forceinline__ RowsEarly load_early(const RowsJob& job, const RowsUnit& r, int row,
                                                int n) {
  const CudaMatmul& a = job.a;
  const int out = rows_tile(job, r.local, 0) * 16 + n;
  RowsEarly e;
  if (a.mode == CudaMatmulMode::kAdd && out < a.w[0].out)
    e.old = a.y[0][static_cast<size_t>(row) * a.w[0].out + out];
  if (!job.rotates) return e;
  const CudaRow info = a.rope.rows[row];
  const int d = out % a.rope.head_dim;
  if (r.i < 2) {
    const float* angles = a.rope.table + static_cast<size_t>(info.rope_position) * a.rope.dims;
    e.cosine = angles[d], e.sine = angles[a.rope.dims / 2 + d];
  }
  e.position = info.position;
  if (r.i > 0) e.page = own_page(a.rope.kv, row, info.position, out / a.rope.head_dim);
  return e;
}

// Output `out` of row `row` and, of a pair, the other one.
__device__ __forceinline__ void finish_rotated(const CudaMatmul& a, int i, int row, int out,
                                               float low, float high, const RowsEarly& e) {
  const CudaWeight& w = a.w[i];
  const CudaRopeAppend& r = a.rope;
  const int half = r.head_dim / 2, d = out % r.head_dim;
  float u = low * w.factor, v = high * w.factor;
  if (a.bias[i] != nullptr) u = u + a.bias[i][out], v = v + a.bias[i][out + half];
  const size_t at = static_cast<size_t>(row) * w.out + out;
  a.y[i][at] = u, a.y[i][at + half] = v;
  if (i == 2) {
    e.page[value_index(r.kv, e.position, d)] = bf16_bits(u);
    e.page[value_index(r.kv, e.position, d + half)] = bf16_bits(v);
    return;
  }
  const float x = rotate_low(u, v, e.cosine, e.sine), y = rotate_high(u, v, e.cosine, e.sine);
  if (i == 0) {
    r.q_out[at] = x, r.q_out[at + half] = y;
  } else {
    e.page[key_index(r.kv, e.position, d)] = bf16_bits(x);
    e.page[key_index(r.kv, e.position, d + half)] = bf16_bits(y);
  }
}

template <class F, bool kStaged>
__global__ void __launch_bounds__(kRowsThreads, 1)
    rows_kernel(const __grid_constant__ RowsJob job) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ __align__(8) uint64_t bars[kRowsWarps][kRowsSlots];
  const CudaMatmul& a = job.a;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = a.w[0].parts;
  const int team_warps = parts * job.width, teams = kRowsWarps / team_warps;
  const int team = warp / team_warps, part = warp % parts, which = warp % team_warps / parts;
  const int first = blockIdx.x * teams + team, stride = gridDim.x * teams;
  const uint8_t* memory = shared + warp * kRowsSlots * RowsRing<F>::kSlotBytes;
  RowsRing<F> ring = {job,
                      static_cast<uint32_t>(__cvta_generic_to_shared(memory)),
                      static_cast<uint32_t>(__cvta_generic_to_shared(bars[warp])),
                      first,
                      stride,
                      which,
                      part};
  if (lane == 0) {
    for (int i = 0; i < kRowsSlots; i++) bar_init(ring.full + i * 8, 1);
    bars_ready();
    for (int i = 0; i < kRowsSlots; i++) ring.issue(i);
  }
  __syncwarp();
  let_next_start();
  wait_for_inputs();
  // After the rings: sums [buffer 2][warp][lane] of 16 bytes, then rows.
  float* sums =
      reinterpret_cast<float*>(shared + kRowsWarps * kRowsSlots * RowsRing<F>::kSlotBytes);
  constexpr int kSums = kRowsWarps * 128;  // floats of a buffer
  const int rows = a.x.rows, from = part_begin(a.w[0], part);
  const int tiles = part_begin(a.w[0], part + 1) - from;
  // This lane's rows of the part; rows past the end repeat the last one and are not used.
  const size_t mine =
      (static_cast<size_t>(from) * 2 * rows + min(lane / 4, rows - 1)) * 64 + lane % 4 * 16;
  const uint8_t* x = reinterpret_cast<const uint8_t*>(a.x.words) + mine;
  uint32_t staged = 0;
  if (kStaged) {
    uint4* here = reinterpret_cast<uint4*>(sums + 2 * kSums);
    if (a.norm.x != nullptr) {
      make_rows(a, reinterpret_cast<uint32_t*>(here));
    } else {
      const uint4* there = reinterpret_cast<const uint4*>(a.x.words);
#pragma unroll 4
      for (int i = threadIdx.x; i < rows * a.x.padded_k / 8; i += kRowsThreads) here[i] = there[i];
    }
    staged = static_cast<uint32_t>(__cvta_generic_to_shared(here)) + static_cast<uint32_t>(mine);
    __syncthreads();
  }
  const int thread = threadIdx.x - team * team_warps * 32;
  int slot = 0, buffer = 0;
  uint32_t phase = 0;
  for (int u = first; u < job.units; u += stride, buffer ^= 1) {
    const RowsUnit r = rows_unit(job, u);
    RowsEarly early;
    if (thread < 16 * rows) early = load_early(job, r, thread / 16, thread % 16);
    float acc[4] = {};
    multiply_part<F, kStaged>(ring, memory, slot, phase, staged, x, rows * 64, tiles, a.w[0].offset,
                              acc);
    float* meet = sums + buffer * kSums + team * team_warps * 128;
    reinterpret_cast<float4*>(meet)[(which * parts + part) * 32 + lane] =
        make_float4(acc[0], acc[1], acc[2], acc[3]);
    // The buffer is written again after the next barrier, which all come to after reading it.
    asm volatile("bar.sync %0, %1;" ::"r"(team), "r"(team_warps * 32) : "memory");
    const auto total = [&](int tile, int row, int n) {
      const float* p = meet + tile * parts * 128 + (n % 8 * 4 + row / 2) * 4 + n / 8 * 2 + row % 2;
      float sum = p[0];
      for (int q = 1; q < parts; q++) sum = sum + p[q * 128];
      return sum;
    };
    const int tile = rows_tile(job, r.local, 0);
    for (int at = thread; at < 16 * rows; at += team_warps * 32) {
      const int row = at / 16, n = at % 16, out = tile * 16 + n;
      if (at != thread) early = load_early(job, r, row, n);
      const float sum = total(0, row, n);
      if (job.rotates) {
        finish_rotated(a, r.i, row, out, sum, total(1, row, n), early);
      } else if (job.width == 2) {
        finish_gated(a, row, out, sum, total(1, row, n));
      } else {
        finish(a, r.i, row, out, sum, early.old);
      }
    }
  }
#endif
}

// Whether the rows fit into shared memory beside the rings.
template <class F>
bool rows_fit(const CudaMatmul& a) {
  return kRowsWarps * (kRowsSlots * RowsRing<F>::kSlotBytes + 1024) +
             operand_bytes(a.x.rows, a.x.k) <=
         kRowsMemory;
}

template <class F>
void run_rows(const CudaMatmul& a, CudaStream stream) {
  RowsJob job;
  job.a = a, job.rotates = a.rope.rows != nullptr;
  const bool gated = a.mode >= CudaMatmulMode::kGatedSilu;
  job.width = gated || job.rotates ? 2 : 1;
  for (int i = 0; i < (gated ? 1 : a.count); i++)
    job.units += job.rotates ? a.w[i].out / 32 : (a.w[i].out + 15) / 16;
  const int teams = kRowsWarps / (a.w[0].parts * job.width);
  const int blocks = (job.units + teams - 1) / teams;
  const bool fit = rows_fit<F>(a);
  const int64_t shared = kRowsWarps * (kRowsSlots * RowsRing<F>::kSlotBytes + 1024) +
                         (fit ? operand_bytes(a.x.rows, a.x.k) : 0);
  const auto kernel = fit ? rows_kernel<F, true> : rows_kernel<F, false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kRowsMemory);
  launch(kernel, dim3(blocks < sm_count() ? blocks : sm_count()), kRowsThreads,
         static_cast<int>(shared), stream, job);
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
