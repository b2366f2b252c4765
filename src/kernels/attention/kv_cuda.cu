// What goes into the KV cache: rotated keys, values, and copies of pages.
#include "kernels/attention/kv_cuda.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

// Element d of a head after rotation.
MLXCEL_DEVICE float rotate(const CudaRopeAppend& a, const float* x, int position, int d) {
  if (a.table == nullptr || d >= a.dims) return x[d];
  const int half = a.dims / 2, i = d < half ? d : d - half;
  const float* angles = a.table + static_cast<size_t>(position) * a.dims;
  const float u = x[i], v = x[i + half], c = angles[i], s = angles[half + i];
  return d < half ? rotate_low(u, v, c, s) : rotate_high(u, v, c, s);
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
      for (int d = lane; d < a.head_dim; d += 32)
        a.q_out[at + d] = rotate(a, a.q + at, info.rope_position, d);
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
  if (is_value) {
    for (int d = lane; d < vd; d += 32)
      page[value_index(a.kv, info.position, d)] =
          d < a.kv.value_dim ? bf16_bits(a.v[at * a.kv.value_dim + d]) : 0;
    return;
  }
  const float* k = a.k + at * a.kv.key_dim;
  for (int d = lane; d < kd; d += 32)
    page[key_index(a.kv, info.position, d)] =
        d < a.kv.key_dim ? bf16_bits(rotate(a, k, info.rope_position, d)) : 0;
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
