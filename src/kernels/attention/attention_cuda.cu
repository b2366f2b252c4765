// attention_cuda.h on tensor cores: a warp folds pages for 16 queries. A page is copied to shared
// memory and goes to registers 16 bytes a lane, which fixes how dims and positions are numbered
// within an mma's 16.
#include "kernels/attention/attention_cuda.h"

#include "kernels/cuda/device.cuh"
#include "kernels/matmul/matmul_cuda.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

constexpr float kNone = -3.402823466e38f;  // below every score: nothing visible

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

template <int kTiles>  // of 8 value dims
struct State {
  float m[2], l[2], o[kTiles][4];
  __device__ __forceinline__ void clear() {
    m[0] = m[1] = kNone, l[0] = l[1] = 0;
#pragma unroll
    for (int i = 0; i < kTiles; i++) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0;
  }
  // Empty rows change nothing, so that a skipped page equals one in which nothing is visible.
  __device__ __forceinline__ void fold(const State& b) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const bool take = m[r] == kNone, keep = b.m[r] == kNone;
      const float n = fmaxf(m[r], b.m[r]), f = exp_f32(m[r] - n), g = exp_f32(b.m[r] - n);
      l[r] = keep ? l[r] : take ? b.l[r] : fma(b.l[r], g, l[r] * f);
#pragma unroll
      for (int i = 0; i < kTiles; i++) {
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; e++) {
          const float both = fma(b.o[i][e], g, o[i][e] * f);
          o[i][e] = keep ? o[i][e] : take ? b.o[i][e] : both;
        }
      }
      m[r] = n;
    }
  }
};

// Four floats from x[d], zeros from x[dim] on. No branch: loads wait for each other at one.
MLXCEL_DEVICE float4 load_dims(const float* x, int d, int dim) {
  float4 v;
  if (dim % 4 == 0) {
    v = *reinterpret_cast<const float4*>(x + min(d, dim - 4));
    return d < dim ? v : make_float4(0, 0, 0, 0);
  }
  v.x = x[min(d, dim - 1)], v.y = x[min(d + 1, dim - 1)];
  v.z = x[min(d + 2, dim - 1)], v.w = x[min(d + 3, dim - 1)];
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
#pragma unroll
    for (int c = 0; c < kChunks * 2; c++)
      v[c] = load_dims(x, c / 2 * 32 + t * 8 + c % 2 * 4, a.head_dim);
#pragma unroll
    for (int c = 0; c < kChunks * 2; c++)
      out[c][r] = bf16_pair(v[c].x, v[c].y), out[c][2 + r] = bf16_pair(v[c].z, v[c].w);
  }
}

// Where a page lies in the cache: keys, and values from the first of this block's dims.
struct Page {
  const uint16_t *key, *value;
};

__device__ __forceinline__ Page page_of(const CudaAttend& a, int row, int kv_head, int index,
                                        int first_value) {
  const int kd = (a.kv.key_dim + 31) / 32 * 32, vd = (a.kv.value_dim + 7) / 8 * 8;
  const int id = a.kv.tables[a.kv.table_at[row] + index];
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
  // By `count` threads, of which this is number `thread`.
  static __device__ __forceinline__ void copy(uint8_t* to, const Page& from, int thread,
                                              int count) {
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    for (int i = thread; i < 64 * kKeys; i += count)
      copy16(at + key_at(i / kKeys, i % kKeys), from.key + i * 8);
    for (int i = thread; i < kTiles * 64; i += count)
      copy16(at + value_at(i / 8, i % 8), from.value + i * 8);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
};

// (m, l, o) of one page; low and high: what the lane's two queries see.
template <int kChunks, int kTiles, bool kCap>
__device__ __forceinline__ void attend_page(const CudaAttend& a,
                                            const Staged<kChunks, kTiles>& page, int start,
                                            int last, const uint32_t (&q)[kChunks * 2][4],
                                            const int (&low)[2], const int (&high)[2],
                                            State<kTiles>& b) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  float s[8][4];
#pragma unroll
  for (int i = 0; i < 8; i++) {
    s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
    // Column c of tile i is position 32 (i / 4) + 8 (c / 2) + 2 (i % 4) + c % 2.
    const int column = i / 4 * 32 + g / 2 * 8 + i % 4 * 2 + g % 2;
#pragma unroll
    for (int c = 0; c < kChunks; c++) {
      const uint4 w = page.key(column, c * 4 + t);
      mma(s[i], q[c * 2], w.x, w.y), mma(s[i], q[c * 2 + 1], w.z, w.w);
    }
  }
  uint32_t p[8][2];  // [tile][query]
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float m = kNone;
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float& v = s[i][r * 2 + e];
        const int at = start + i / 4 * 32 + t * 8 + i % 4 * 2 + e;
        v = v * a.scale;
        if (kCap) v = softcap(v, a.softcap);
        v = at >= low[r] && at < high[r] ? v : kNone;
        m = fmaxf(m, v);
      }
    }
    m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
    m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
    float l = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float u = s[i][r * 2], v = s[i][r * 2 + 1];
      p[i][r] = bf16_pair(u == kNone ? 0 : exp_f32(u - m), v == kNone ? 0 : exp_f32(v - m));
      l = l + bf16_low(p[i][r]) + bf16_high(p[i][r]);
    }
    l = l + __shfl_xor_sync(~0u, l, 1);
    l = l + __shfl_xor_sync(~0u, l, 2);
    b.m[r] = m, b.l[r] = l;
  }
  const bool whole = start + 64 <= last;  // positions from `last` on hold anything
#pragma unroll
  for (int i = 0; i < kTiles; i++) {
    b.o[i][0] = b.o[i][1] = b.o[i][2] = b.o[i][3] = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      uint4 w = page.value(i * 8 + g, h * 4 + t);
      if (!whole) {
        const int left = last - start - h * 32 - t * 8;  // positions that hold something
        const auto cut = [&](uint32_t x, int first) {
          return left >= first + 2 ? x : left == first + 1 ? x & 0xffff : 0;
        };
        w = make_uint4(cut(w.x, 0), cut(w.y, 2), cut(w.z, 4), cut(w.w, 6));
      }
      const uint32_t p0[4] = {p[h * 4][0], p[h * 4][1], p[h * 4 + 1][0], p[h * 4 + 1][1]};
      const uint32_t p1[4] = {p[h * 4 + 2][0], p[h * 4 + 2][1], p[h * 4 + 3][0], p[h * 4 + 3][1]};
      mma(b.o[i], p0, w.x, w.y), mma(b.o[i], p1, w.z, w.w);
    }
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

MLXCEL_DEVICE void write_out(const CudaAttend& a, int row, int head, int d, float v) {
  a.y[(static_cast<size_t>(row) * a.heads + head) * a.kv.value_dim + d] = v;
  if (a.copy.words != nullptr) store_copy(a.copy, row, head * a.kv.value_dim + d, v);
}

// Long segments: a warp folds all pages of its 16 queries. Block: four warps, neighbouring rows.
template <int kChunks, int kTiles, bool kCap>
__global__ void __launch_bounds__(128) whole_kernel(CudaAttend a) {
  let_next_start();
  wait_for_inputs();
  const Split split(a);
  const int lead = blockIdx.x, warp = threadIdx.x / 32;
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
  const auto copy = [&](int i) {
    S::copy(memory + i % 2 * S::kBytes, page_of(a, lead, kv_head, i, first_value), threadIdx.x,
            128);
  };
  State<kTiles> total, span;
  total.clear(), span.clear();
  copy(begin);
  for (int i = begin; i < end; i++) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // page i has landed, and every warp is done with page i - 1
    if (i + 1 < end) copy(i + 1);
    if (i * 64 >= see.last || i < see.first / 64) continue;
    if (i % 16 == 0 && i > 0) total.fold(span), span.clear();
    State<kTiles> page;
    attend_page<kChunks, kTiles, kCap>(a, S{memory + i % 2 * S::kBytes}, i * 64, see.last, q,
                                       see.low, see.high, page);
    span.fold(page);
  }
  total.fold(span);
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int i = g + 8 * r;
    if (i >= queries.count()) continue;
#pragma unroll
    for (int tile = 0; tile < kTiles; tile++) {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const int d = first_value + tile * 8 + t * 2 + e;
        const float v = total.m[r] == kNone ? 0 : __fdiv_rn(total.o[tile][r * 2 + e], total.l[r]);
        if (d < a.kv.value_dim) write_out(a, queries.row(i), queries.head(i), d, v);
      }
    }
  }
}

MLXCEL_DEVICE float* partial(const CudaAttend& a, int short_at, int head, int page) {
  return a.partials + ((static_cast<size_t>(short_at) * a.heads + head) * a.max_pages + page) *
                          (2 + a.kv.value_dim);
}

constexpr int kSplitWarps = 2;

// Short segments: a warp takes one page for 16 queries and leaves (m, l, o) for merge_kernel.
template <int kChunks, int kTiles, bool kCap>
__global__ void __launch_bounds__(kSplitWarps * 32) split_kernel(CudaAttend a) {
  let_next_start();
  wait_for_inputs();
  const Split split(a);
  const int lead = blockIdx.x;
  const CudaRow first = a.rows[lead];
  if (first.short_at < 0 || first.in_segment % split.rows_each != 0) return;
  const int value_tiles = (a.kv.value_dim + kTiles * 8 - 1) / (kTiles * 8);
  const int value_tile = blockIdx.y % value_tiles, y = blockIdx.y / value_tiles;
  const int kv_head = y / split.head_tiles, head_tile = y % split.head_tiles;
  const int left = first.segment_rows - first.in_segment;
  const Queries queries = {lead, min(split.rows_each, left),
                           min(split.heads_each, split.shared - head_tile * 16),
                           kv_head * split.shared + head_tile * 16};
  const int first_value = value_tile * kTiles * 8,
            index = blockIdx.z * kSplitWarps + threadIdx.x / 32;
  const Ranges see(a, queries);
  if (index < see.first / 64 || index * 64 >= see.last) return;
  extern __shared__ __align__(128) uint8_t memory[];
  using S = Staged<kChunks, kTiles>;
  uint8_t* mine = memory + threadIdx.x / 32 * S::kBytes;
  S::copy(mine, page_of(a, lead, kv_head, index, first_value), threadIdx.x % 32, 32);
  uint32_t q[kChunks * 2][4];
  load_queries<kChunks>(a, queries, q);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  State<kTiles> page;
  attend_page<kChunks, kTiles, kCap>(a, S{mine}, index * 64, see.last, q, see.low, see.high, page);
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int i = g + 8 * r;
    if (i >= queries.count()) continue;
    float* to = partial(a, first.short_at + i / queries.heads_each, queries.head(i), index);
    if (t == 0 && first_value == 0) to[0] = page.m[r], to[1] = page.l[r];
#pragma unroll
    for (int tile = 0; tile < kTiles; tile++) {
      const int d = first_value + tile * 8 + t * 2;
      if (d < a.kv.value_dim) to[2 + d] = page.o[tile][r * 2];
      if (d + 1 < a.kv.value_dim) to[3 + d] = page.o[tile][r * 2 + 1];
    }
  }
}

struct Scalar {  // State of one value dim
  float m = kNone, l = 0, o = 0;
  __device__ void fold(float bm, float bl, float bo) {
    if (bm == kNone) return;
    if (m == kNone) {
      m = bm, l = bl, o = bo;
      return;
    }
    const float n = fmaxf(m, bm), f = exp_f32(m - n), g = exp_f32(bm - n);
    l = fma(bl, g, l * f), o = fma(bo, g, o * f), m = n;
  }
};

constexpr int kDims = 64;

// Block (row, head, 64 value dims): kSpans spans at a time are folded side by side, then in order.
// kPages: of a span at most.
template <int kSpans, int kPages>
__global__ void __launch_bounds__(kSpans* kDims) merge_kernel(CudaAttend a) {
  __shared__ float meet[kSpans][3][kDims];
  let_next_start();
  wait_for_inputs();
  const CudaRow row = a.rows[blockIdx.x];
  if (row.short_at < 0) return;
  const int x = threadIdx.x % kDims, lane = threadIdx.x / kDims;
  const int d = blockIdx.z * kDims + x, dim = min(d, a.kv.value_dim - 1);
  const int low = a.window > 0 ? max(0, row.position + 1 - a.window) : 0;
  const int pages = (row.high + 63) / 64;
  Scalar total;
  for (int base = low / 1024; base * 16 < pages; base += kSpans) {
    Scalar span;
    const int first = (base + lane) * 16, end = min(first + 16, pages);
    float m[kPages], l[kPages],
        o[kPages];  // all loads before the first fold: they take as long as one
#pragma unroll
    for (int j = 0; j < kPages; j++) {
      const bool in = first + j >= low / 64 && first + j < end;
      const float* p = partial(a, row.short_at, blockIdx.y, in ? first + j : low / 64);
      m[j] = in ? p[0] : kNone, l[j] = p[1], o[j] = p[2 + dim];
    }
#pragma unroll
    for (int j = 0; j < kPages; j++) span.fold(m[j], l[j], o[j]);
    if (kSpans == 1) {
      total.fold(span.m, span.l, span.o);
      continue;
    }
    __syncthreads();
    meet[lane][0][x] = span.m, meet[lane][1][x] = span.l, meet[lane][2][x] = span.o;
    __syncthreads();
    if (lane == 0) {
      for (int s = 0; s < kSpans; s++) total.fold(meet[s][0][x], meet[s][1][x], meet[s][2][x]);
    }
  }
  if (lane == 0 && d < a.kv.value_dim)
    write_out(a, blockIdx.x, blockIdx.y, d, total.m == kNone ? 0 : __fdiv_rn(total.o, total.l));
}

template <int kSpans, int kPages>
void merge(const CudaAttend& a, CudaStream stream) {
  launch(merge_kernel<kSpans, kPages>,
         dim3(a.row_count, a.heads, (a.kv.value_dim + kDims - 1) / kDims), kSpans * kDims, 0,
         stream, a);
}

template <int kChunks, int kTiles, bool kCap>
void run(const CudaAttend& a, CudaStream stream) {
  const int shared = a.heads / a.kv.kv_heads, head_tiles = (shared + 15) / 16;
  const int value_tiles = (a.kv.value_dim + kTiles * 8 - 1) / (kTiles * 8);
  constexpr int kShared = 2 * Staged<kChunks, kTiles>::kBytes;
  static_assert(kSplitWarps == 2);
  if (a.long_rows > 0 || a.all_long) {
    cudaFuncSetAttribute(whole_kernel<kChunks, kTiles, kCap>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
    launch(whole_kernel<kChunks, kTiles, kCap>,
           dim3(a.row_count, a.kv.kv_heads * head_tiles, value_tiles), 128, kShared, stream, a);
  }
  if (a.short_rows == 0 || a.all_long) return;
  cudaFuncSetAttribute(split_kernel<kChunks, kTiles, kCap>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  launch(split_kernel<kChunks, kTiles, kCap>,
         dim3(a.row_count, a.kv.kv_heads * head_tiles * value_tiles,
              (a.max_pages + kSplitWarps - 1) / kSplitWarps),
         kSplitWarps * 32, kShared, stream, a);
  if (a.max_pages <= 4) return merge<1, 4>(a, stream);
  if (a.max_pages <= 16) return merge<1, 16>(a, stream);
  merge<8, 16>(a, stream);
}

// The cap is a kernel of its own: its code, 32 times inline, would be fetched and not run.
template <int kChunks, int kTiles>
void run(const CudaAttend& a, CudaStream stream) {
  a.softcap > 0 ? run<kChunks, kTiles, true>(a, stream) : run<kChunks, kTiles, false>(a, stream);
}

}  // namespace

int64_t cuda_attend_partials(int64_t short_rows, int64_t heads, int64_t pages, int64_t value_dim) {
  return short_rows * heads * pages * (2 + value_dim);
}

void cuda_attend(const CudaAttend& a, CudaStream stream) {
  const int chunks = static_cast<int>(cuda_key_dim(a.head_dim) / 32);
  if (chunks == 1) return run<1, 4>(a, stream);
  if (chunks == 2) return run<2, 8>(a, stream);
  if (chunks == 3) return run<3, 12>(a, stream);
  if (chunks == 4) return run<4, 16>(a, stream);
  if (chunks == 8) return run<8, 8>(a, stream);
  return run<16, 4>(a, stream);  // 512: the backend refuses other sizes
}

}  // namespace mlxcel
