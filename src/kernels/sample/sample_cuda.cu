// sample_cuda.h: see there for the plan, and kernels/sample/sample.h for the definition.
#include "kernels/cuda/device.cuh"
#include "kernels/sample/sample_cuda.h"

namespace mlxcel {
namespace {

using namespace gpu;

constexpr int kBlock = 1024;  // ids
constexpr float kNothing = -__builtin_huge_valf();

struct BlockStats {  // of 1,024 ids of a row
  float raw_max, max;
  int32_t first;  // id of the largest edited logit, the lowest of equals
  int32_t bad;    // a NaN or +infinity
  float raw_mass, mass;
  float best;  // the largest perturbed logit and its id
  int32_t best_id;
};

__device__ int blocks_of(const CudaSample& a) { return (a.vocab + kBlock - 1) / kBlock; }
__device__ BlockStats* stats_of(const CudaSample& a, int row) {
  return static_cast<BlockStats*>(a.scratch) + static_cast<size_t>(row) * blocks_of(a);
}
__device__ const float* raw_of(const CudaSample& a, int row) {
  return a.logits + static_cast<size_t>(row) * a.vocab;
}
__device__ const float* edited_of(const CudaSample& a, int row) {
  return a.params[row].edited ? a.edited + static_cast<size_t>(row) * a.vocab : raw_of(a, row);
}

struct Best {
  float x;
  int32_t id;
  __device__ void take(float y, int32_t other) {  // ties to the lower id
    if (y > x || (y == x && other < id)) x = y, id = other;
  }
};

__device__ Best warp_best(Best b) {
  for (int i = 16; i > 0; i /= 2) {
    const float y = __shfl_xor_sync(~0u, b.x, i);
    const int32_t other = __shfl_xor_sync(~0u, b.id, i);
    b.take(y, other);
  }
  return b;
}

// For all threads of a block of 1,024: the best of all.
__device__ Best block_best(Best b) {
  __shared__ Best meet[32];
  b = warp_best(b);
  __syncthreads();
  if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = b;
  __syncthreads();
  return warp_best(meet[threadIdx.x % 32]);
}

__global__ void edit_kernel(CudaSample a) {  // the copy and the mask
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.y, t = blockIdx.x * blockDim.x + threadIdx.x;
  const CudaSampleRow p = a.params[row];
  if (!p.edited || t >= a.vocab) return;
  float x = raw_of(a, row)[t];
  int low = 0, high = p.edit_count;  // the edit of token t, if there is one
  const CudaEdit* edits = a.edits + p.edit_at;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (edits[middle].token < t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < p.edit_count && edits[low].token == t)
    x = (x > 0 ? __fdiv_rn(x, edits[low].repeat) : x * edits[low].repeat) + edits[low].add;
  if (p.allowed_at >= 0 && !(a.allowed[p.allowed_at + t / 32] >> t % 32 & 1)) x = kNothing;
  a.edited[static_cast<size_t>(row) * a.vocab + t] = x;
}

constexpr int kWarps = 4;  // of a block of max_kernel and mass_kernel

// A warp takes 1,024 ids.
__global__ void __launch_bounds__(kWarps * 32) max_kernel(CudaSample a) {
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.y, lane = threadIdx.x % 32;
  const int block = blockIdx.x * kWarps + threadIdx.x / 32;
  if (block >= blocks_of(a)) return;
  const bool edited = a.params[row].edited;
  const float *raw = raw_of(a, row), *l = edited_of(a, row);
  const float infinity = -kNothing;
  Best by_raw = {kNothing, 0x7fffffff}, by_x = by_raw;
  bool bad = false;
  float raws[kBlock / 32];  // all loads before the first use: they take as long as one
#pragma unroll
  for (int i = 0; i < kBlock / 32; i++) {
    const int t = block * kBlock + i * 32 + lane;
    raws[i] = raw[min(t, a.vocab - 1)];
    if (t >= a.vocab) raws[i] = kNothing;
  }
#pragma unroll
  for (int i = 0; i < kBlock / 32; i++) {
    const int t = block * kBlock + i * 32 + lane;
    const float r = raws[i], x = edited && t < a.vocab ? l[t] : r;
    bad = bad || !(r < infinity) || !(x < infinity);
    by_raw.take(r, t), by_x.take(x, t);
  }
  by_raw = warp_best(by_raw), by_x = warp_best(by_x);
  bad = __any_sync(~0u, bad);
  if (lane == 0) {
    BlockStats& s = stats_of(a, row)[block];
    s.raw_max = by_raw.x, s.max = by_x.x, s.first = by_x.id, s.bad = bad;
  }
}

// Largest of the row's blocks, for every thread.
struct Most {
  float raw, max;
};
__device__ Most row_most(const CudaSample& a, int row) {
  const BlockStats* s = stats_of(a, row);
  Most m = {kNothing, kNothing};
  for (int b = threadIdx.x % 32; b < blocks_of(a); b += 32)
    m.raw = fmaxf(m.raw, s[b].raw_max), m.max = fmaxf(m.max, s[b].max);
  for (int i = 16; i > 0; i /= 2) {
    m.raw = fmaxf(m.raw, __shfl_xor_sync(~0u, m.raw, i));
    m.max = fmaxf(m.max, __shfl_xor_sync(~0u, m.max, i));
  }
  return m;
}

// The mass of 1,024 ids: lane i of 16 adds ids i, 16 + i, ... in order, then halves are added.
// `values` is shared memory for kBlock floats; for all threads of the block.
__device__ float block_mass(float v, float* values) {
  __shared__ float total;
  __syncthreads();
  values[threadIdx.x] = v;
  __syncthreads();
  float sum = 0;
  if (threadIdx.x < 32) {
    const int lane = threadIdx.x % 16;
    for (int i = 0; i < kBlock / 16; i++) sum = sum + values[i * 16 + lane];
    for (int half = 8; half > 0; half /= 2) sum = sum + __shfl_down_sync(~0u, sum, half);
    if (threadIdx.x == 0) total = sum;
  }
  __syncthreads();
  return total;
}

__device__ uint32_t philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                           uint32_t k1, int word) {
  for (int round = 0; round < 10; round++) {
    const uint64_t p = 0xD2511F53ull * c0, q = 0xCD9E8D57ull * c2;
    const uint32_t n0 = static_cast<uint32_t>(q >> 32) ^ c1 ^ k0, n1 = static_cast<uint32_t>(q);
    const uint32_t n2 = static_cast<uint32_t>(p >> 32) ^ c3 ^ k1, n3 = static_cast<uint32_t>(p);
    c0 = n0, c1 = n1, c2 = n2, c3 = n3;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3;
}

__device__ float gumbel(uint32_t r) {
  const bool small = (r >> 16) < 19195;
  const uint32_t x = small ? r : ~r;
  const float v =
      fma(static_cast<float>(x >> 16), 65536.0f, static_cast<float>(x & 0xffff) + 0.5f) * 0x1p-32f;
  return -log_f32(small ? -log_parts_f32(-v, 0.0f) : -log_f32(v));
}

__device__ float perturbed(const CudaSampleRow& p, float l, float max, int t) {
  if (!(p.temperature > 0)) return l;
  const uint32_t r = philox(t / 4, p.choice, static_cast<uint32_t>(p.position),
                            static_cast<uint32_t>(p.position >> 32), static_cast<uint32_t>(p.seed),
                            static_cast<uint32_t>(p.seed >> 32), t % 4);
  return __fdiv_rn(l - max, p.temperature) + gumbel(r);
}

// Half a warp takes 1,024 ids: its lanes are the 16 of the definition.
__global__ void __launch_bounds__(kWarps * 32) mass_kernel(CudaSample a) {
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.y, lane = threadIdx.x % 16;
  const int block = blockIdx.x * kWarps * 2 + threadIdx.x / 16;
  const CudaSampleRow& p = a.params[row];
  const float *raw = raw_of(a, row), *l = edited_of(a, row);
  const bool edited = p.edited, noise = p.temperature > 0;
  float raw_sum = 0, sum = 0;
  Best best = {kNothing, 0x7fffffff};
  float raws[kBlock / 16];
#pragma unroll
  for (int i = 0; i < kBlock / 16; i++)
    raws[i] = raw[min(block * kBlock + i * 16 + lane, a.vocab - 1)];
  const Most most = row_most(a, row);
#pragma unroll
  for (int i = 0; i < kBlock / 16; i++) {
    const int t = block * kBlock + i * 16 + lane;
    const bool in = t < a.vocab;
    const float r = in ? raws[i] : kNothing, x = edited && in ? l[t] : r;
    raw_sum = raw_sum + (in ? exp_f32(r - most.raw) : 0);
    if (edited) sum = sum + (in ? exp_f32(x - most.max) : 0);
    if (!noise && x > kNothing) best.take(x, t);
  }
  for (int i = 0; noise && i < kBlock / 16; i++) {
    const int t = block * kBlock + i * 16 + lane;
    const float x = t < a.vocab ? l[t] : kNothing;
    if (x > kNothing) best.take(perturbed(p, x, most.max, t), t);
  }
  for (int half = 8; half > 0; half /= 2) {
    raw_sum = raw_sum + __shfl_down_sync(~0u, raw_sum, half, 16);
    sum = sum + __shfl_down_sync(~0u, sum, half, 16);
    const float y = __shfl_xor_sync(~0u, best.x, half);
    const int32_t other = __shfl_xor_sync(~0u, best.id, half);
    best.take(y, other);
  }
  if (lane == 0 && block < blocks_of(a)) {
    BlockStats& s = stats_of(a, row)[block];
    s.raw_mass = raw_sum, s.mass = edited ? sum : raw_sum, s.best = best.x, s.best_id = best.id;
  }
}

// Whether token u is in the set that top-k, top-p and min-p leave. For all threads of the block.
__device__ bool member(const CudaSample& a, int row, float max, double total, int u,
                       float* values) {
  const CudaSampleRow& p = a.params[row];
  const float* l = edited_of(a, row);
  const float lu = l[u];
  int rank = 0;
  double before = 0;
  for (int b = 0; b < blocks_of(a); b++) {
    const int t = b * kBlock + threadIdx.x;
    const float x = t < a.vocab ? l[t] : kNothing;
    const bool ahead = t < a.vocab && (x > lu || (x == lu && t < u));
    rank += __syncthreads_count(ahead);
    if (p.top_p < 1) before += block_mass(ahead ? exp_f32(x - max) : 0, values);
  }
  if (rank == 0) return true;
  if (p.top_k > 0 && rank >= p.top_k) return false;
  if (p.min_p > 0 && !(lu - max >= p.log_min_p)) return false;
  return p.top_p >= 1 || before < static_cast<double>(p.top_p) * total;
}

// The next candidate: the largest perturbed logit among tokens that rank before `limit` (the last
// one that failed) and come after (x, id) in visiting order.
__device__ Best next_candidate(const CudaSample& a, int row, float max, int limit) {
  const CudaSampleRow& p = a.params[row];
  const float* l = edited_of(a, row);
  Best best = {kNothing, 0x7fffffff};
  for (int t = threadIdx.x; t < a.vocab; t += kBlock) {
    const float x = l[t];
    if (!(x > kNothing)) continue;
    if (!(x > l[limit] || (x == l[limit] && t < limit))) continue;
    best.take(perturbed(p, x, max, t), t);
  }
  return block_best(best);
}

__device__ void top_tokens(const CudaSample& a, int row, float raw_max, double log_mass) {
  const float* raw = raw_of(a, row);
  CudaSampled& out = a.out[row];
  float last = -kNothing;
  int last_id = -1;
  for (int i = 0; i < a.params[row].top_count; i++) {
    Best best = {kNothing, 0x7fffffff};
    for (int t = threadIdx.x; t < a.vocab; t += kBlock) {
      if (i == 0 || raw[t] < last || (raw[t] == last && t > last_id)) best.take(raw[t], t);
    }
    best = block_best(best);
    const bool found = best.id != 0x7fffffff;
    if (threadIdx.x == 0) {
      out.top_token[i] = found ? best.id : -1;
      out.top_logprob[i] =
          found ? static_cast<float>(static_cast<double>(best.x - raw_max) - log_mass) : 0;
    }
    if (found) last = best.x, last_id = best.id;
  }
}

__global__ void __launch_bounds__(kBlock) token_kernel(CudaSample a) {
  __shared__ float values[kBlock];
  __shared__ double totals[2];
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.x, blocks = blocks_of(a);
  const CudaSampleRow& p = a.params[row];
  const BlockStats* s = stats_of(a, row);
  const Most most = row_most(a, row);
  int bad = 0;
  Best best = {kNothing, 0x7fffffff};
  for (int b = threadIdx.x; b < blocks; b += kBlock)
    bad |= s[b].bad, best.take(s[b].best, s[b].best_id);
  bad = __syncthreads_or(bad);
  best = block_best(best);
  double sum = 0;
  for (int first = 0; first < blocks; first += kBlock / 2) {  // staged: adding waits for no memory
    const int b = first + threadIdx.x / 2, n = min(kBlock / 2, blocks - first);
    if (b < blocks) values[threadIdx.x] = threadIdx.x % 2 == 0 ? s[b].raw_mass : s[b].mass;
    __syncthreads();
    for (int i = 0; threadIdx.x < 2 && i < n; i++) sum += values[i * 2 + threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < 2) totals[threadIdx.x] = sum;
  __syncthreads();
  if (bad || most.max == kNothing) {
    if (threadIdx.x == 0) a.out[row].token = -1, a.out[row].logprob = 0;
    return;
  }
  const bool filters = p.temperature > 0 && (p.top_k > 0 || p.min_p > 0 || p.top_p < 1);
  // A token that fails excludes all that rank after it, itself included, so this ends.
  while (filters && !member(a, row, most.max, totals[1], best.id, values))
    best = next_candidate(a, row, most.max, best.id);
  const double log_mass = exact_log(totals[0]);
  if (threadIdx.x == 0) {
    a.out[row].token = best.id;
    a.out[row].logprob =
        static_cast<float>(static_cast<double>(raw_of(a, row)[best.id] - most.raw) - log_mass);
    a.last_sample[p.sequence] = best.id;
  }
  if (p.top_count > 0) top_tokens(a, row, most.raw, log_mass);
}

}  // namespace

int64_t cuda_sample_scratch(int64_t rows, int64_t vocab) {
  return rows * ((vocab + kBlock - 1) / kBlock) * static_cast<int64_t>(sizeof(BlockStats));
}

void cuda_sample(const CudaSample& a, CudaStream stream) {
  const int blocks = (a.vocab + kBlock - 1) / kBlock;
  if (a.any_edited) launch(edit_kernel, dim3(blocks, a.rows), kBlock, 0, stream, a);
  launch(max_kernel, dim3((blocks + kWarps - 1) / kWarps, a.rows), kWarps * 32, 0, stream, a);
  launch(mass_kernel, dim3((blocks + kWarps * 2 - 1) / (kWarps * 2), a.rows), kWarps * 32, 0,
         stream, a);
  launch(token_kernel, dim3(a.rows), kBlock, 0, stream, a);
}

}  // namespace mlxcel
