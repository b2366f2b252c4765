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

__global__ void __launch_bounds__(kBlock) max_kernel(CudaSample a) {
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.y, t = blockIdx.x * kBlock + threadIdx.x;
  const bool in = t < a.vocab;
  const float raw = in ? raw_of(a, row)[t] : kNothing, x = in ? edited_of(a, row)[t] : kNothing;
  const float infinity = -kNothing;
  const int bad = __syncthreads_or(!(raw < infinity) || !(x < infinity));
  const Best by_raw = block_best({raw, t}), by_x = block_best({x, t});
  if (threadIdx.x == 0) {
    BlockStats& s = stats_of(a, row)[blockIdx.x];
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

__global__ void __launch_bounds__(kBlock) mass_kernel(CudaSample a) {
  __shared__ float values[kBlock];
  wait_for_inputs();
  let_next_start();
  const int row = blockIdx.y, t = blockIdx.x * kBlock + threadIdx.x;
  const CudaSampleRow& p = a.params[row];
  const bool in = t < a.vocab;
  const Most most = row_most(a, row);
  const float raw = in ? raw_of(a, row)[t] : kNothing, x = in ? edited_of(a, row)[t] : kNothing;
  const float raw_mass = block_mass(in ? exp_f32(raw - most.raw) : 0, values);
  float mass = raw_mass;
  if (p.edited) mass = block_mass(in ? exp_f32(x - most.max) : 0, values);
  Best best = {kNothing, 0x7fffffff};
  if (in && x > kNothing) best.take(perturbed(p, x, most.max, t), t);
  best = block_best(best);
  if (threadIdx.x == 0) {
    BlockStats& s = stats_of(a, row)[blockIdx.x];
    s.raw_mass = raw_mass, s.mass = mass, s.best = best.x, s.best_id = best.id;
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
  if (threadIdx.x < 2) {
    double sum = 0;
    for (int b = 0; b < blocks; b++) sum += threadIdx.x == 0 ? s[b].raw_mass : s[b].mass;
    totals[threadIdx.x] = sum;
  }
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
  const dim3 grid((a.vocab + kBlock - 1) / kBlock, a.rows);
  if (a.any_edited) launch(edit_kernel, grid, kBlock, 0, stream, a);
  launch(max_kernel, grid, kBlock, 0, stream, a);
  launch(mass_kernel, grid, kBlock, 0, stream, a);
  launch(token_kernel, dim3(a.rows), kBlock, 0, stream, a);
}

}  // namespace mlxcel
