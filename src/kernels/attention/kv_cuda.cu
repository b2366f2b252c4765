// What goes into the KV cache: rotated keys, values, and copies of pages.
#include "kernels/attention/kv_cuda.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

// A warp's head after rotation: put(d, v) gets every element.
template <class Put>
MLXCEL_DEVICE void rotate(const CudaRopeAppend& a, const float* x, int position, int head_dim,
                          Put put) {
  const int lane = threadIdx.x % 32, dims = a.table == nullptr ? 0 : a.dims, half = dims / 2;
  const float* angles = a.table + static_cast<size_t>(position) * dims;
  for (int i = lane; i < half; i += 32) {
    const float u = x[i], v = x[i + half], c = angles[i], s = angles[half + i];
    put(i, rotate_low(u, v, c, s)), put(i + half, rotate_high(u, v, c, s));
  }
  for (int d = dims + lane; d < head_dim; d += 32) put(d, x[d]);
}

// Values lie in the cache with a dim's positions side by side. Where a segment has all of sixteen
// positions that lie in whole sectors, the row of the first stores them all.
constexpr int kTogether = 16;
MLXCEL_DEVICE bool stored_together(const CudaRow& row) {
  const int in = row.position % kTogether;
  return row.in_segment >= in && row.in_segment - in + kTogether <= row.segment_rows;
}
MLXCEL_DEVICE void store_together(const CudaRopeAppend& a, int row, int position, int head,
                                  uint16_t* page) {
  const int dim = a.kv.value_dim, row_step = a.kv.kv_heads * dim;
  const float* v = a.v + (static_cast<size_t>(row) * a.kv.kv_heads + head) * dim;
  for (int d = threadIdx.x % 32; d < (dim + 7) / 8 * 8; d += 32) {
    float x[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; i++) x[i] = d < dim ? v[i * row_step + d] : 0;
    uint4* to = reinterpret_cast<uint4*>(page + value_index(a.kv, position, d));
#pragma unroll
    for (int i = 0; i < kTogether; i += 8)
      to[i / 8] = make_uint4(bf16_pair(x[i], x[i + 1]), bf16_pair(x[i + 2], x[i + 3]),
                             bf16_pair(x[i + 4], x[i + 5]), bf16_pair(x[i + 6], x[i + 7]));
  }
}

// Block (row, 8 heads of q, then k, then v): a warp each.
__global__ void __launch_bounds__(256) rope_append_kernel(CudaRopeAppend a) {
  let_next_start();
  wait_for_inputs();
  const int row = blockIdx.x, lane = threadIdx.x % 32;
  int head = blockIdx.y * 8 + threadIdx.x / 32;
  const CudaRow info = a.rows[row];
  if (a.q != nullptr) {
    if (head < a.heads) {
      const size_t at = (static_cast<size_t>(row) * a.heads + head) * a.head_dim;
      rotate(a, a.q + at, info.rope_position, a.head_dim,
             [&](int d, float v) { a.q_out[at + d] = v; });
      return;
    }
    head -= a.heads;
  }
  if (a.k == nullptr || head >= 2 * a.kv.kv_heads) return;
  const bool is_value = head >= a.kv.kv_heads;
  if (is_value) head -= a.kv.kv_heads;
  const int kd = (a.kv.key_dim + 31) / 32 * 32, vd = (a.kv.value_dim + 7) / 8 * 8;
  uint16_t* page = own_page(a.kv, row, info.position, head);
  const size_t at = static_cast<size_t>(row) * a.kv.kv_heads + head;
  if (is_value && stored_together(info)) {
    if (info.position % kTogether == 0) store_together(a, row, info.position, head, page);
    return;
  }
  if (is_value) {
    for (int d = lane; d < vd; d += 32)
      page[value_index(a.kv, info.position, d)] =
          d < a.kv.value_dim ? bf16_bits(a.v[at * a.kv.value_dim + d]) : 0;
    return;
  }
  const float* k = a.k + at * a.kv.key_dim;
  uint16_t* to = page + key_index(a.kv, info.position, 0);
  rotate(a, k, info.rope_position, a.kv.key_dim, [&](int d, float v) { to[d] = bf16_bits(v); });
  for (int d = a.kv.key_dim + lane; d < kd; d += 32) to[d] = 0;
}

__global__ void copy_page_kernel(CudaCopyPage a) {
  wait_for_inputs();
  let_next_start();
  const uint16_t* from = a.memory + a.from * a.page_elements;
  uint16_t* to = a.memory + a.to * a.page_elements;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < a.page_elements;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    to[i] = from[i];
}

}  // namespace

void cuda_rope_append(const CudaRopeAppend& a, CudaStream stream) {
  const int heads = (a.q ? a.heads : 0) + (a.k ? 2 * a.kv.kv_heads : 0);
  launch(rope_append_kernel, dim3(a.row_count, (heads + 7) / 8), 256, 0, stream, a);
}

void cuda_copy_page(const CudaCopyPage& a, CudaStream stream) {
  launch(copy_page_kernel, dim3(132), 256, 0, stream, a);
}

}  // namespace mlxcel
