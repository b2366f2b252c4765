// Attention of short segments, cut at pages so that few rows fill the GPU.
#pragma once

#include "kernels/attention/attention_pieces.cuh"

namespace mlxcel::gpu {

// What blocks leave for each other: (m, l, o) of a page or of a span, for the value dims of a
// block.
template <int kTiles>
struct Left {
  static constexpr int kFirst = 4, kFloats = kFirst + kTiles * 8;  // m, l, two unused, o
  int64_t at[16];           // of query i: where its place 0 is
  int row[16], column[16];  // where its output goes
  // For the first 16 threads of a block. Places: pages, then spans, `step` floats apart.
  __device__ __forceinline__ void fill(const CudaAttend& a, const Queries& q, int short_at,
                                       int value_tiles, int value_tile) {
    const int i = threadIdx.x, places = a.max_pages + (a.max_pages + 15) / 16;
    if (i >= q.count()) return;
    const int head = q.head(i);
    row[i] = q.row(i), column[i] = head * a.kv.value_dim;
    at[i] = ((static_cast<int64_t>(short_at + i / q.heads_each) * a.heads + head) * places *
                 value_tiles +
             value_tile) *
            kFloats;
  }
};

inline constexpr int kFold = 16;  // pages of a span; spans at a time

// What is folded so far, for up to 16 queries; in shared memory, for all threads of a block.
template <int kTiles>
struct Folded {
  static constexpr int kDims = kTiles * 8, kQuads = kDims / 4;
  static constexpr int kAtOnce = kAttendThreads / kQuads;  // queries
  float4 factors[16][kFold];  // (f, g, l of the entry, whether to keep what is there)
  float m[16], l[2][16];      // l: the chunk's parity
  float o[16][kDims];

  // Calls each(q, d) for what this thread does of every query: value dims d to d + 3.
  template <class Each>
  static __device__ __forceinline__ void for_each(int queries, Each each) {
    const int d = threadIdx.x % kQuads * 4;
    if (threadIdx.x >= kQuads * kAtOnce) return;
#pragma unroll 1
    for (int q = threadIdx.x / kQuads; q < queries; q += kAtOnce) each(q, d);
  }

  // Folds entries 0 .. n - 1 into what is there, in order, as Factors::fold does: the largest score
  // so far comes from a scan, so that all factors are computed at once. Entry j of query q is at
  // first + at[q] + j * step: m, l, o.
  __device__ __forceinline__ void fold(int queries, int n, int chunk, const float* first,
                                       const int64_t (&at)[16], int step) {
    const int lane = threadIdx.x % 32;
    float4 x[kFold];  // of this thread's first query: on its way while factors are computed
    const auto load = [&](int q, int d) {
      const float* e = first + at[q] + Left<kTiles>::kFirst + d;
#pragma unroll
      for (int j = 0; j < kFold; j++)
        x[j] =
            j < n ? __ldcg(reinterpret_cast<const float4*>(e + j * step)) : make_float4(0, 0, 0, 0);
    };
    load(min(static_cast<int>(threadIdx.x) / kQuads, queries - 1), threadIdx.x % kQuads * 4);
    for (int q = threadIdx.x / 32; q < queries; q += kAttendWarps) {
      const float* e = first + at[q] + min(lane, n - 1) * step;
      const float one = __ldcg(e), sum = __ldcg(e + 1);
      const float had = chunk == 0 ? kNone : m[q], mine = lane < n ? one : kNone;
      float top = lane == 0 ? fmaxf(had, mine) : mine;
#pragma unroll
      for (int i = 1; i < kFold; i *= 2) {
        const float v = __shfl_up_sync(~0u, top, i);
        if (lane >= i) top = fmaxf(top, v);
      }
      float before = __shfl_up_sync(~0u, top, 1);
      if (lane == 0) before = had;
      const Factors r(before, top, mine);
      if (lane < kFold) factors[q][lane] = make_float4(r.f, r.g, sum, r.keep);
      if (lane == kFold - 1) m[q] = top;
    }
    __syncthreads();
    for_each(queries, [&](int q, int d) {
      if (q >= kAtOnce) load(q, d);
      float4& to = *reinterpret_cast<float4*>(&o[q][d]);
      float4 so = chunk == 0 ? make_float4(0, 0, 0, 0) : to;
      float sl = chunk == 0 ? 0 : l[chunk % 2][q];
      const auto fold_one = [](float had, float entry, float4 c) {
        return c.w != 0 ? had : fma(entry, c.y, had * c.x);
      };
#pragma unroll
      for (int j = 0; j < kFold; j++) {
        const float4 c = factors[q][j];
        sl = fold_one(sl, c.z, c);
        so.x = fold_one(so.x, x[j].x, c), so.y = fold_one(so.y, x[j].y, c);
        so.z = fold_one(so.z, x[j].z, c), so.w = fold_one(so.w, x[j].w, c);
      }
      to = so;
      if (d == 0) l[(chunk + 1) % 2][q] = sl;
    });
    __syncthreads();
  }
  __device__ __forceinline__ float sum(int q, int chunks) const { return l[chunks % 2][q]; }
};

// True for the block that comes last of `all` to a counter, and for it only; it sees what the
// others left, and the counter is 0 again.
__device__ __forceinline__ bool comes_last(int* counter, int all) {
  __shared__ int came;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    came = atomicAdd(counter, 1);
    if (came == all - 1) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return came == all - 1;
}

template <int kChunks>
constexpr int kSplitBlocks = kChunks <= 4 ? 6 : 1;

// Short segments: a block takes one page for 16 queries, a warp of it 16 positions, then a quarter
// of the value dims. The last block of a span folds its pages, the last of all folds the spans.
//
// Pages that end before the segment were complete when the step began (its first kernel, embed,
// lets none start earlier), so they are copied while the kernels before still run.
template <int kChunks, int kTiles, bool kCap>
__global__ void __launch_bounds__(kAttendThreads, kSplitBlocks<kChunks>)
    split_kernel(const __grid_constant__ CudaAttend a) {
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ float tops[kAttendWarps][16];
  __shared__ uint32_t weights[8][2][32];
  __shared__ Left<kTiles> leave;
  let_next_start();
  const Split split(a);
  const int lead = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const CudaRow first = a.rows[lead];
  if (first.short_at < 0 || first.in_segment % split.rows_each != 0) return;
  const int value_tiles = (a.kv.value_dim + kTiles * 8 - 1) / (kTiles * 8);
  const int value_tile_at = blockIdx.y % value_tiles, y = blockIdx.y / value_tiles;
  const int kv_head = y / split.head_tiles, head_tile = y % split.head_tiles;
  const int left = first.segment_rows - first.in_segment;
  const Queries queries = {lead, min(split.rows_each, left),
                           min(split.heads_each, split.shared - head_tile * 16),
                           kv_head * split.shared + head_tile * 16};
  const int first_value = value_tile_at * kTiles * 8, index = blockIdx.z;
  const Ranges see(a, queries);
  const int begin = see.first / 64, end = (see.last + 63) / 64;
  if (index < begin || index >= end) return;
  using S = Staged<kChunks, kTiles>;
  const Page from = page_of(a, a.kv.tables[a.kv.table_at[lead] + index], kv_head, first_value);
  const bool complete = index * 64 + 64 <= first.position - first.in_segment;
  leave.fill(a, queries, first.short_at, value_tiles, value_tile_at);
  if (!complete) wait_for_inputs();
  S::copy(memory, from, see.last - index * 64);
  wait_for_inputs();
  uint32_t q[kChunks * 2][4];
  load_queries<kChunks>(a, queries, q);
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();  // keys
  const S page{memory};
  const int start = index * 64, g = lane / 4, t = lane % 4;
  float s[2][4], m[2];
  score_tiles<2>(page, warp * 2, q, s);
#pragma unroll
  for (int r = 0; r < 2; r++) {
    m[r] = kNone;
#pragma unroll
    for (int j = 0; j < 2; j++)
      m[r] = fmaxf(
          m[r], mask_tile<kCap>(a, false, start, warp * 2 + j, see.low[r], see.high[r], r, s[j]));
    m[r] = max_of_four(m[r]);
    if (t == 0) tops[warp][g + 8 * r] = m[r];
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int w = 0; w < kAttendWarps; w++) m[r] = fmaxf(m[r], tops[w][g + 8 * r]);
#pragma unroll
    for (int j = 0; j < 2; j++)
      weights[warp * 2 + j][r][lane] = weights_of(s[j][r * 2], s[j][r * 2 + 1], m[r]);
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();  // weights and values
  uint32_t p[8][2];
#pragma unroll
  for (int i = 0; i < 8; i++) p[i][0] = weights[i][0][lane], p[i][1] = weights[i][1][lane];
  const float l[2] = {sum_of_weights(p, 0), sum_of_weights(p, 1)};
  const int step = value_tiles * Left<kTiles>::kFloats;
  float* to[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int i = g + 8 * r;
    to[r] = i < queries.count() ? a.partials + leave.at[i] + index * step : nullptr;
    if (to[r] != nullptr && warp == 0 && t == 0)
      *reinterpret_cast<float2*>(to[r]) = make_float2(m[r], l[r]);
  }
  float o[kTiles / kAttendWarps][4];
  weigh_values<kTiles / kAttendWarps, kAttendWarps>(page, warp, see.last - start, p, o);
#pragma unroll
  for (int j = 0; j < kTiles / kAttendWarps; j++) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      if (to[r] != nullptr)
        *reinterpret_cast<float2*>(to[r] + Left<kTiles>::kFirst + (warp + j * kAttendWarps) * 8 +
                                   t * 2) = make_float2(o[j][r * 2], o[j][r * 2 + 1]);
    }
  }
  // Counters: of the spans, then of all.
  const int spans = (a.max_pages + kFold - 1) / kFold, span = index / kFold;
  int* counter =
      a.counters + (static_cast<size_t>(first.short_at) * gridDim.y + blockIdx.y) * (spans + 1);
  const int from_page = max(begin, span * kFold), to_page = min(end, span * kFold + kFold);
  if (!comes_last(counter + span, to_page - from_page)) return;
  Folded<kTiles>& folded = *reinterpret_cast<Folded<kTiles>*>(memory);  // the page is done with
  const int count = queries.count();
  folded.fold(count, to_page - from_page, 0, a.partials + from_page * step, leave.at, step);
  int chunks = 1;
  const int first_span = begin / kFold, end_span = (end + kFold - 1) / kFold;
  float* span_places = a.partials + a.max_pages * step;
  if (end_span - first_span > 1) {
    Folded<kTiles>::for_each(count, [&](int i, int d) {
      float* at = span_places + leave.at[i] + span * step;
      *reinterpret_cast<float4*>(at + Left<kTiles>::kFirst + d) =
          *reinterpret_cast<const float4*>(&folded.o[i][d]);
      if (d == 0) at[0] = folded.m[i], at[1] = folded.sum(i, 1);
    });
    if (!comes_last(counter + spans, end_span - first_span)) return;
    chunks = 0;
    for (int at = first_span; at < end_span; at += kFold, chunks++) {
      folded.fold(count, min(kFold, end_span - at), chunks, span_places + at * step, leave.at,
                  step);
    }
  }
  Folded<kTiles>::for_each(count, [&](int i, int d) {
    const bool any = folded.m[i] != kNone;
    const float l = any ? folded.sum(i, chunks) : 1;
    const float4 v = *reinterpret_cast<const float4*>(&folded.o[i][d]);
    const Output out(a, leave.row[i], leave.column[i]);
    out.store_pair(first_value + d, any ? __fdiv_rn(v.x, l) : 0, any ? __fdiv_rn(v.y, l) : 0);
    out.store_pair(first_value + d + 2, any ? __fdiv_rn(v.z, l) : 0, any ? __fdiv_rn(v.w, l) : 0);
  });
}

}  // namespace mlxcel::gpu
