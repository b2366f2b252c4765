// What both attention kernels are made of: queries, a page in shared memory, its scores and its
// weighted values, and how pages are folded. A page is copied to shared memory and goes to
// registers 16 bytes a lane, which fixes how dims and positions are numbered within an mma's 16.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/device.cuh"
#include "kernels/matmul/matmul_cuda.cuh"

namespace mlxcel::gpu {

inline constexpr int kAttendThreads = 128, kAttendWarps = kAttendThreads / 32;
inline constexpr float kNone = -3.402823466e38f;  // below every score: nothing visible

// The queries of a warp: rows x heads of one KV head; lane 4 g + t holds queries g and g + 8.
struct Queries {
  int first_row, rows, heads_each, first_head;
  __device__ int count() const { return rows * heads_each; }
  __device__ int row(int i) const { return first_row + i / heads_each; }
  __device__ int head(int i) const { return first_head + i % heads_each; }
};

struct Split {  // how heads that share a KV head are cut into queries of a warp
  int shared, heads_each, head_tiles, rows_each;
  __device__ explicit Split(const CudaAttend& a) {
    shared = a.heads / a.kv.kv_heads;
    heads_each = min(shared, 16), head_tiles = (shared + 15) / 16, rows_each = 16 / heads_each;
  }
};

// How (m, l, o) of a page joins what is there: had * f + page * g. Empty rows change nothing, so
// that a skipped page equals one in which nothing is visible.
struct Factors {
  float f, g;
  bool keep;
  __device__ __forceinline__ Factors(float m, float n, float page)  // n: the larger of m and page
      : f(m == kNone ? 0 : exp_f32(m - n)),
        g(m == kNone ? 1 : exp_f32(page - n)),
        keep(page == kNone) {}
  __device__ __forceinline__ float fold(float had, float page) const {
    const float both = fma(page, g, had * f);
    return keep ? had : both;
  }
};

template <int kTiles>  // of 8 value dims
struct State {
  float m[2], l[2], o[kTiles][4];
  __device__ __forceinline__ void clear() {
    m[0] = m[1] = kNone, l[0] = l[1] = 0;
#pragma unroll
    for (int i = 0; i < kTiles; i++) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0;
  }
};

// Four floats from x[d], zeros from x[dim] on, where dim is a multiple of 4. No branch: loads wait
// for each other at one.
MLXCEL_DEVICE float4 load_dims(const float* x, int d, int dim) {
  const float4 v = *reinterpret_cast<const float4*>(x + min(d, dim - 4));
  return d < dim ? v : make_float4(0, 0, 0, 0);
}
// The same for any dim.
static __device__ __noinline__ float4 load_odd_dims(const float* x, int d, int dim) {
  const float4 v = {x[min(d, dim - 1)], x[min(d + 1, dim - 1)], x[min(d + 2, dim - 1)],
                    x[min(d + 3, dim - 1)]};
  return {d < dim ? v.x : 0, d + 1 < dim ? v.y : 0, d + 2 < dim ? v.z : 0, d + 3 < dim ? v.w : 0};
}

template <int kChunks>  // of 32 key dims
__device__ __forceinline__ void load_queries(const CudaAttend& a, const Queries& q,
                                             uint32_t (&out)[kChunks * 2][4]) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    // Queries past the end read the first; nothing uses what becomes of them.
    const int i = g + 8 * r < q.count() ? g + 8 * r : 0;
    const float* x = a.q + (static_cast<size_t>(q.row(i)) * a.heads + q.head(i)) * a.head_dim;
    float4 v[kChunks * 2];
    if (a.head_dim % 4 == 0) {
#pragma unroll
      for (int c = 0; c < kChunks * 2; c++)
        v[c] = load_dims(x, c / 2 * 32 + t * 8 + c % 2 * 4, a.head_dim);
    } else {
#pragma unroll
      for (int c = 0; c < kChunks * 2; c++)
        v[c] = load_odd_dims(x, c / 2 * 32 + t * 8 + c % 2 * 4, a.head_dim);
    }
#pragma unroll
    for (int c = 0; c < kChunks * 2; c++)
      out[c][r] = bf16_pair(v[c].x, v[c].y), out[c][2 + r] = bf16_pair(v[c].z, v[c].w);
  }
}

// Where a page lies in the cache: keys, and values from the first of this block's dims.
struct Page {
  const uint16_t *key, *value;
};

__device__ __forceinline__ Page page_of(const CudaAttend& a, int id, int kv_head, int first_value) {
  const int kd = (a.kv.key_dim + 31) / 32 * 32, vd = (a.kv.value_dim + 7) / 8 * 8;
  const uint16_t* p = a.kv.memory + id * a.kv.page_elements + a.kv.layer_at +
                      static_cast<size_t>(kv_head) * 64 * (kd + vd);
  return {p, p + 64 * kd + first_value * 64};
}

// A page in shared memory: rows of 64 keys, then rows of value dims, in chunks of 16 bytes. Odd
// rows swap the halves of each eight chunks, so that no two lanes meet in a bank.
template <int kChunks, int kTiles>
struct Staged {
  static constexpr int kKeys = kChunks * 4, kBytes = 64 * kKeys * 16 + kTiles * 8 * 128;
  const uint8_t* memory;
  static __device__ __forceinline__ int swap(int row, int c) { return c ^ ((row & 1) << 2); }
  static __device__ __forceinline__ int key_at(int row, int c) {
    return (row * kKeys + (kKeys % 8 == 0 ? swap(row, c) : c)) * 16;
  }
  static __device__ __forceinline__ int value_at(int dim, int c) {
    return (64 * kKeys + dim * 8 + swap(dim, c)) * 16;
  }
  __device__ __forceinline__ uint4 key(int row, int c) const {
    return *reinterpret_cast<const uint4*>(memory + key_at(row, c));
  }
  __device__ __forceinline__ uint4 value(int dim, int c) const {
    return *reinterpret_cast<const uint4*>(memory + value_at(dim, c));
  }
  // The first `left` positions by kAttendThreads threads; two groups of copies, keys first.
  static __device__ __forceinline__ void copy(uint8_t* to, const Page& from, int left) {
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
#pragma unroll 8
    for (int i = threadIdx.x; i < 64 * kKeys; i += kAttendThreads) {
      if (i / kKeys < left) copy16(at + key_at(i / kKeys, i % kKeys), from.key + i * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 8
    for (int i = threadIdx.x; i < kTiles * 64; i += kAttendThreads) {
      if (i % 8 * 8 < left) copy16(at + value_at(i / 8, i % 8), from.value + i * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
};

// Scores of kCount times 8 positions for 16 queries. Column c of tile i is position
// 32 (i / 4) + 8 (c / 2) + 2 (i % 4) + c % 2. Tiles side by side: a chain waits for each product.
template <int kCount, int kChunks, int kTiles>
__device__ __forceinline__ void score_tiles(const Staged<kChunks, kTiles>& page, int first,
                                            const uint32_t (&q)[kChunks * 2][4],
                                            float (&s)[kCount][4]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < kCount; j++) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0;
#pragma unroll
  for (int c = 0; c < kChunks; c++) {
    uint4 w[kCount];
#pragma unroll
    for (int j = 0; j < kCount; j++) {
      const int i = first + j, column = i / 4 * 32 + g / 2 * 8 + i % 4 * 2 + g % 2;
      w[j] = page.key(column, c * 4 + t);
    }
#pragma unroll
    for (int j = 0; j < kCount; j++) mma(s[j], q[c * 2], w[j].x, w[j].y);
#pragma unroll
    for (int j = 0; j < kCount; j++) mma(s[j], q[c * 2 + 1], w[j].z, w[j].w);
  }
}

// Scales and caps the scores of query r (g or g + 8) in tile i and, where not all are visible,
// hides the others; the largest one.
template <bool kCap>
__device__ __forceinline__ float mask_tile(const CudaAttend& a, bool all, int start, int i, int low,
                                           int high, int r, float (&s)[4]) {
  float m = kNone;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    float& v = s[r * 2 + e];
    v = v * a.scale;
    if (kCap) v = softcap(v, a.softcap);
    if (!all) {
      const int at = start + i / 4 * 32 + threadIdx.x % 4 * 8 + i % 4 * 2 + e;
      v = at >= low && at < high ? v : kNone;
    }
    m = fmaxf(m, v);
  }
  return m;
}
MLXCEL_DEVICE float max_of_four(float m) {  // of the lanes that share a query
  m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
  return fmaxf(m, __shfl_xor_sync(~0u, m, 2));
}
// exp(score - largest), 0 or less, in bf16: of a hidden one 0; where all are hidden it does not
// matter, since (m, l, o) is not used then.
MLXCEL_DEVICE float weight_of(float x) {
  const float t = fma(x, 1.44269504088896340736f, 12582912.0f), n = t - 12582912.0f;
  const float r = fma(n, 1.904654299957767878e-9f, fma(n, -0.693147182464599609375f, x));
  float p = 0.008368677f;
  p = fma(p, r, 0.04166827f);
  p = fma(p, r, 0.16666521f);
  p = fma(p, r, 0.49999994f);
  p = fma(p, r * r, r) + 1.0f;
  const float y = p * from_bits((bits(t) << 23) + 0x3f800000u);
  return x < -87.0f ? 0.0f : y;
}
MLXCEL_DEVICE uint32_t weights_of(float u, float v, float m) {
  return bf16_pair(weight_of(u - m), weight_of(v - m));
}
__device__ __forceinline__ float sum_of_weights(const uint32_t (&p)[8][2], int r) {
  float l = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) l = l + bf16_low(p[i][r]) + bf16_high(p[i][r]);
  l = l + __shfl_xor_sync(~0u, l, 1);
  return l + __shfl_xor_sync(~0u, l, 2);
}

// Weights times kCount times 8 value dims of a page, tiles kStep apart; `left` positions hold
// something.
template <int kCount, int kStep, int kChunks, int kTiles>
__device__ __forceinline__ void weigh_values(const Staged<kChunks, kTiles>& page, int first,
                                             int left, const uint32_t (&p)[8][2],
                                             float (&o)[kCount][4]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < kCount; j++) o[j][0] = o[j][1] = o[j][2] = o[j][3] = 0;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    uint4 w[kCount];
#pragma unroll
    for (int j = 0; j < kCount; j++) w[j] = page.value((first + j * kStep) * 8 + g, h * 4 + t);
    if (left < 64) {
      const int mine = left - h * 32 - t * 8;
      const auto cut = [&](uint32_t x, int from) {
        return mine >= from + 2 ? x : mine == from + 1 ? x & 0xffff : 0;
      };
#pragma unroll
      for (int j = 0; j < kCount; j++)
        w[j] = make_uint4(cut(w[j].x, 0), cut(w[j].y, 2), cut(w[j].z, 4), cut(w[j].w, 6));
    }
    const uint32_t p0[4] = {p[h * 4][0], p[h * 4][1], p[h * 4 + 1][0], p[h * 4 + 1][1]};
    const uint32_t p1[4] = {p[h * 4 + 2][0], p[h * 4 + 2][1], p[h * 4 + 3][0], p[h * 4 + 3][1]};
#pragma unroll
    for (int j = 0; j < kCount; j++) mma(o[j], p0, w[j].x, w[j].y);
#pragma unroll
    for (int j = 0; j < kCount; j++) mma(o[j], p1, w[j].z, w[j].w);
  }
}

// What the lane's queries see, and the range of the warp's.
struct Ranges {
  int low[2], high[2], first, last;
  __device__ Ranges(const CudaAttend& a, const Queries& q) {
    first = 0x7fffffff, last = 0;
    const int g = threadIdx.x % 32 / 4;
    for (int r = 0; r < 2; r++) {
      const int i = g + 8 * r;
      low[r] = 0, high[r] = 0;
      if (i < q.count()) {
        const CudaRow row = a.rows[q.row(i)];
        low[r] = a.window > 0 ? max(0, row.position + 1 - a.window) : 0, high[r] = row.high;
      }
    }
    for (int i = 0; i < q.rows; i++) {
      const CudaRow row = a.rows[q.first_row + i];
      first = min(first, a.window > 0 ? max(0, row.position + 1 - a.window) : 0);
      last = max(last, row.high);
    }
  }
};

// Where a query's output goes.
struct Output {
  float* y;
  OperandRow copy;
  int column, dim;  // of the head's first dim in a row; value dims
  bool copies;
  __device__ __forceinline__ Output(const CudaAttend& a, int row, int first)
      : y(a.y + static_cast<size_t>(row) * a.heads * a.kv.value_dim + first),
        copy(a.copy, row),
        column(first),
        dim(a.kv.value_dim),
        copies(a.copy.words != nullptr) {}
  __device__ __forceinline__ void store(int d, float v) const {
    if (d >= dim) return;
    y[d] = v;
    if (copies) store_copy(copy, column + d, v);
  }
  __device__ __forceinline__ void store_pair(int d, float u, float v) const {  // d is even
    if (dim % 2 != 0) {
      store(d, u), store(d + 1, v);
    } else if (d < dim) {
      *reinterpret_cast<float2*>(y + d) = make_float2(u, v);
      if (copies) copy.at(column + d) = bf16_pair(u, v);
    }
  }
};

}  // namespace mlxcel::gpu
