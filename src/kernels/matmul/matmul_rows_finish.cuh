// The units of work of the matmul for up to 8 rows (matmul_rows.cuh), and how its outputs are
// finished: parts added in order, then rope and the KV cache, the gate, or a store.
#pragma once

#include "kernels/attention/kv_cuda.cuh"
#include "kernels/matmul/matmul_cuda.cuh"
#include "kernels/matmul/wgmma.cuh"

namespace mlxcel::gpu {

inline constexpr int kRowsWarps = 16;                // that multiply
inline constexpr int kRowsFinishers = kFewRows / 2;  // warps, two rows each
inline constexpr int kRowsThreads = (kRowsWarps + kRowsFinishers) * 32;
inline constexpr int kRowsMemory = 224 * 1024;
inline constexpr int kRowsSlots = 2;  // of a warp's ring, at most: a longer queue delays the rows

struct RowsJob {
  CudaMatmul a;
  int32_t units = 0;  // pieces of work of a team, over all matrices
  int32_t width = 1;  // tiles of a unit: two where gated or rotated
  int32_t rotates = 0;
  int32_t slots = kRowsSlots;  // one where a warp has no more work
  int32_t unused = 0;
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

// A team's units, one after the other: neighbouring units go to different SMs, so that each SM gets
// as many as any other, or one less.
struct RowsUnits {
  int unit, stride;
  __device__ RowsUnits(int team, int teams)
      : unit(team * gridDim.x + blockIdx.x), stride(gridDim.x * teams) {}
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The barriers of a block.
struct RowsBars {
  uint64_t rows;                                       // staged
  uint64_t full[kRowsWarps][kRowsSlots];               // slots of each warp's ring
  uint64_t left[kRowsWarps][2], taken[kRowsWarps][2];  // [team][buffer] of sums
};
MLXCEL_DEVICE uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
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

// Adds the parts that teams leave and stores outputs, by warp `mine` of kRowsFinishers. It takes
// two rows; where fewer warps suffice for all rows, teams are dealt to groups of so many.
__device__ __forceinline__ void finish_rows(const RowsJob& job, int mine, int teams,
                                            const float* sums, RowsBars& bars) {
  const CudaMatmul& a = job.a;
  const int lane = threadIdx.x % 32, parts = a.w[0].parts, rows = a.x.rows;
  const int team_sums = job.width * parts * 128;  // floats
  const int together = (rows + 1) / 2, groups = kRowsFinishers / together, group = mine / together;
  const int row = mine % together * 2 + lane / 16, n = lane % 16;
  if (group >= min(groups, teams)) return;
  for (int turn = 0, team = group;; team += groups) {
    if (team >= teams) team = group, turn++;
    RowsUnits at(team, teams);
    at.unit += turn * at.stride;
    if (at.unit >= job.units) break;
    const RowsUnit r = rows_unit(job, at.unit);
    const int tile = rows_tile(job, r.local, 0), buffer = turn % 2;
    RowsEarly early = {};
    if (row < rows) early = load_early(job, r, row, n);
    const float* meet = sums + (buffer * teams + team) * team_sums;
    bar_wait(shared_address(&bars.left[team][buffer]), turn / 2 % 2);
    const auto total = [&](int which) {
      const float* p = meet + which * parts * 128 + (n % 8 * 4 + row / 2) * 4 + n / 8 * 2 + row % 2;
      float part[8];
#pragma unroll
      for (int q = 0; q < 8; q++) part[q] = q < parts ? p[q * 128] : 0;
      float sum = part[0];
#pragma unroll
      for (int q = 1; q < 8; q++) sum = q < parts ? sum + part[q] : sum;
      return sum;
    };
    if (row < rows) {
      const int out = tile * 16 + n;
      const float sum = total(0);
      if (job.rotates) {
        finish_rotated(a, r.i, row, out, sum, total(1), early);
      } else if (job.width == 2) {
        finish_gated(a, row, out, sum, total(1));
      } else {
        finish(a, r.i, row, out, sum, early.old);
      }
    }
    __syncwarp();
    if (lane == 0) bar_arrive(shared_address(&bars.taken[team][buffer]));
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace mlxcel::gpu
