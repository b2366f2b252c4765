// Softmax attention over a paged KV cache in bf16, on tensor cores, with equal bits for one query
// row or a thousand.
//
// A page holds 64 positions; of one KV head it holds bf16 key[64][key_dim], value[value_dim][64]
// (dims padded to 32 and 8). Queries of rows and heads that share a KV head fill the 16 rows of
// mma.m16n8k16. The tree of one query:
//   q' = bf16(q)
//   each page, over its visible positions j:
//     s[j] = scale * (chain of mma over 16 dims a step), then cap * tanh(s / cap) if cap > 0
//     m = max s,  p[j] = bf16(exp_f32(s[j] - m)), 0 where j is not visible
//     l = sum of p in a fixed tree,  o[d] = chain of mma over 16 positions a step of p v
//   (m, l, o) of pages are folded left to right within a span of 1,024 absolute positions, spans
//   left to right, as attention.h says. out = o / l, or 0 where nothing was visible.
// Positions that no row of a call may see are removed by selection; those between a row's own last
// and its segment's last are multiplied by an exact 0.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/operand.h"

namespace mlxcel {

struct CudaRow {                             // of a step
  int32_t position = 0, high = 0;            // KV position; sees positions below `high`
  int32_t in_segment = 0, segment_rows = 0;  // its place among the rows of its sequence
  int32_t short_at = -1;                     // its number among rows of short segments, or -1
  int32_t rope_position = 0;
  int32_t unused[2] = {};
};

// Rows of segments this long and shorter are cut at pages, so that few rows fill the GPU.
inline constexpr int kCudaShortSegment = 16;

inline int64_t cuda_key_dim(int64_t dim) { return (dim + 31) / 32 * 32; }
inline int64_t cuda_value_dim(int64_t dim) { return (dim + 7) / 8 * 8; }

struct CudaKv {  // one layer of one KV group
  uint16_t* memory = nullptr;
  int64_t page_elements = 0;                         // of all layers
  int64_t layer_at = 0;                              // elements
  int32_t kv_heads = 0, key_dim = 0, value_dim = 0;  // as the model says
  int32_t unused = 0;
  const int32_t* tables = nullptr;    // page ids
  const int32_t* table_at = nullptr;  // [rows]: where in `tables` a row's table starts
};

// Rotates and stores: k, v of every row into the cache, and q. Any of q and k may be null; without
// a table nothing is rotated.
struct CudaRopeAppend {
  CudaKv kv;
  const CudaRow* rows = nullptr;
  int32_t row_count = 0, heads = 0, head_dim = 0, dims = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float* q_out = nullptr;        // [rows, heads, head_dim]
  const float* table = nullptr;  // [position][cosine, sine][dims / 2]
};
void cuda_rope_append(const CudaRopeAppend& args, CudaStream stream);

struct CudaAttend {
  CudaKv kv;
  const CudaRow* rows = nullptr;
  int32_t row_count = 0, short_rows = 0, long_rows = 0;
  int32_t heads = 0, head_dim = 0, window = 0;
  float scale = 1, softcap = 0;
  const float* q = nullptr;  // [rows, heads, head_dim]
  float* y = nullptr;        // [rows, heads, value_dim]
  Operand copy;              // y as the rows of the next matmul, if words is set
  // Where blocks of short rows leave what they have; counters are 0 between launches.
  float* partials = nullptr;
  int32_t* counters = nullptr;
  int32_t max_pages = 0;  // no less than any short row's pages
  int32_t all_long = 0;   // treat short segments as long ones: no room for partials
};
void cuda_attend(const CudaAttend& args, CudaStream stream);

struct CudaAttendRoom {
  int64_t partials = 0, counters = 0;  // elements
};
CudaAttendRoom cuda_attend_room(const CudaAttend& args);

struct CudaCopyPage {
  uint16_t* memory = nullptr;
  int64_t page_elements = 0;
  int32_t from = 0, to = 0;
};
void cuda_copy_page(const CudaCopyPage& args, CudaStream stream);

}  // namespace mlxcel
