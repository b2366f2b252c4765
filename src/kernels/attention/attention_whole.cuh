// Attention of long segments: a warp folds all pages of its 16 queries.
#pragma once

#include "kernels/attention/attention_pieces.cuh"

namespace mlxcel::gpu {

// What a thread has folded of earlier spans, in shared memory: it is needed once a span.
template <int kTiles>
struct Spans {
  static constexpr int kBytes = (kTiles + 1) * kAttendThreads * 16;
  float4* at;  // this thread's, kAttendThreads apart
  bool any = false;
  // Folds `span` into what is there and clears it; at the end, gives it all back in `span`.
  __device__ __forceinline__ void fold(State<kTiles>& span, bool end) {
    const float4 had = any ? at[0] : make_float4(kNone, kNone, 0, 0);
    const float m[2] = {fmaxf(had.x, span.m[0]), fmaxf(had.y, span.m[1])};
    const Factors r0(had.x, m[0], span.m[0]), r1(had.y, m[1], span.m[1]);
    const float4 sum =
        make_float4(m[0], m[1], r0.fold(had.z, span.l[0]), r1.fold(had.w, span.l[1]));
    at[0] = sum;
    if (end) span.m[0] = sum.x, span.m[1] = sum.y, span.l[0] = sum.z, span.l[1] = sum.w;
#pragma unroll
    for (int i = 0; i < kTiles; i++) {
      const float4 v = any ? at[(i + 1) * kAttendThreads] : make_float4(0, 0, 0, 0);
      float* o = span.o[i];
      const float4 w = make_float4(r0.fold(v.x, o[0]), r0.fold(v.y, o[1]), r1.fold(v.z, o[2]),
                                   r1.fold(v.w, o[3]));
      at[(i + 1) * kAttendThreads] = w;
      if (end) o[0] = w.x, o[1] = w.y, o[2] = w.z, o[3] = w.w;
    }
    any = true;
    if (!end) span.clear();
  }
};

// Folds one page into a span, by one warp; low and high: what the lane's two queries see. The
// page's o is folded tile by tile, so that it takes no registers.
template <int kChunks, int kTiles, bool kCap>
__device__ __forceinline__ void fold_page(const CudaAttend& a, const Staged<kChunks, kTiles>& page,
                                          int start, int last, const uint32_t (&q)[kChunks * 2][4],
                                          const int (&low)[2], const int (&high)[2],
                                          State<kTiles>& span) {
  float s[8][4];
  score_tiles<8>(page, 0, q, s);
  const bool all = __all_sync(
      ~0u, start >= low[0] && start >= low[1] && start + 64 <= high[0] && start + 64 <= high[1]);
  float m[2] = {kNone, kNone};
  if (all) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      m[0] = fmaxf(m[0], mask_tile<kCap>(a, true, start, i, low[0], high[0], 0, s[i]));
      m[1] = fmaxf(m[1], mask_tile<kCap>(a, true, start, i, low[1], high[1], 1, s[i]));
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      m[0] = fmaxf(m[0], mask_tile<kCap>(a, false, start, i, low[0], high[0], 0, s[i]));
      m[1] = fmaxf(m[1], mask_tile<kCap>(a, false, start, i, low[1], high[1], 1, s[i]));
    }
  }
  m[0] = max_of_four(m[0]), m[1] = max_of_four(m[1]);
  uint32_t p[8][2];  // [tile][query]
#pragma unroll
  for (int r = 0; r < 2; r++) {
#pragma unroll
    for (int i = 0; i < 8; i++) p[i][r] = weights_of(s[i][r * 2], s[i][r * 2 + 1], m[r]);
  }
  const float top[2] = {fmaxf(span.m[0], m[0]), fmaxf(span.m[1], m[1])};
  const Factors r0(span.m[0], top[0], m[0]), r1(span.m[1], top[1], m[1]);
  span.m[0] = top[0], span.m[1] = top[1];
  span.l[0] = r0.fold(span.l[0], sum_of_weights(p, 0));
  span.l[1] = r1.fold(span.l[1], sum_of_weights(p, 1));
#pragma unroll
  for (int i = 0; i < kTiles; i += 4) {
    float o[4][4];
    weigh_values<4, 1>(page, i, last - start, p, o);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float* had = span.o[i + j];
      had[0] = r0.fold(had[0], o[j][0]), had[1] = r0.fold(had[1], o[j][1]);
      had[2] = r1.fold(had[2], o[j][2]), had[3] = r1.fold(had[3], o[j][3]);
    }
  }
}

// Long segments: a warp folds all pages of its 16 queries. Block: four warps, neighbouring rows.
template <int kChunks, int kTiles, bool kCap>
__global__ void __launch_bounds__(kAttendThreads) whole_kernel(CudaAttend a) {
  let_next_start();
  wait_for_inputs();
  const Split split(a);
  // The last rows of a segment see most: they come first.
  const int lead = gridDim.x - 1 - blockIdx.x, warp = threadIdx.x / 32;
  const CudaRow first = a.rows[lead];
  const int step = split.rows_each * 4;
  if ((first.short_at >= 0 && !a.all_long) || first.in_segment % step != 0) return;
  const int kv_head = blockIdx.y / split.head_tiles, head_tile = blockIdx.y % split.head_tiles;
  const int offset = warp * split.rows_each, left = first.segment_rows - first.in_segment - offset;
  const int first_head = kv_head * split.shared + head_tile * 16;
  const Queries queries = {lead + offset, max(0, min(split.rows_each, left)),
                           min(split.heads_each, split.shared - head_tile * 16), first_head};
  const int first_value = blockIdx.z * kTiles * 8;
  uint32_t q[kChunks * 2][4];
  load_queries<kChunks>(a, queries, q);
  const Ranges see(a, queries);
  // The pages that any of the block's warps sees come in turn to two buffers.
  extern __shared__ __align__(128) uint8_t memory[];
  using S = Staged<kChunks, kTiles>;
  __shared__ int range[2];
  if (threadIdx.x == 0) range[0] = 0x7fffffff, range[1] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0 && left > 0)
    atomicMin(&range[0], see.first / 64), atomicMax(&range[1], (see.last + 63) / 64);
  __syncthreads();
  const int begin = range[0], end = range[1];
  const int32_t* ids = a.kv.tables + a.kv.table_at[lead];
  int id = ids[begin];  // of the page that is copied next
  const auto copy = [&](int i) {
    S::copy(memory + i % 2 * S::kBytes, page_of(a, id, kv_head, first_value), 64);
    if (i + 1 < end) id = ids[i + 1];
  };
  State<kTiles> span;
  span.clear();
  Spans<kTiles> spans = {reinterpret_cast<float4*>(memory + 2 * S::kBytes) + threadIdx.x};
  copy(begin);
  for (int i = begin; i < end; i++) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // page i has landed, and every warp is done with page i - 1
    if (i + 1 < end) copy(i + 1);
    if (i * 64 >= see.last || i < see.first / 64) continue;
    if (i % 16 == 0 && i > 0) spans.fold(span, false);
    fold_page<kChunks, kTiles, kCap>(a, S{memory + i % 2 * S::kBytes}, i * 64, see.last, q, see.low,
                                     see.high, span);
  }
  if (spans.any) spans.fold(span, true);
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int i = g + 8 * r;
    if (i >= queries.count()) continue;
    const Output out(a, queries.row(i), queries.head(i) * a.kv.value_dim);
    const bool any = span.m[r] != kNone;
    const float l = any ? span.l[r] : 1;
#pragma unroll
    for (int tile = 0; tile < kTiles; tile++) {
      const float u = any ? span.o[tile][r * 2] : 0, v = any ? span.o[tile][r * 2 + 1] : 0;
      out.store_pair(first_value + tile * 8 + t * 2, __fdiv_rn(u, l), __fdiv_rn(v, l));
    }
  }
}

}  // namespace mlxcel::gpu
