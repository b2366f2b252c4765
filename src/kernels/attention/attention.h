// Softmax attention of query rows over a paged KV cache, one KV head at a time.
//
//   s[j] = scale * q . k[j], then cap * tanh(s[j] / cap) if cap > 0
//   out  = sum over visible j of softmax(s)[j] * v[j]
//
// A page is 64 positions. Of one KV head it holds the keys transposed, then the values, so that
// both products are chains of fused multiply-adds in which vector lanes are independent:
//   key[key_dim][64], value[64][value_dim], and for int8: f32 key_scale[64], value_scale[64]
// Elements are f16, bf16, or int8 with a scale for each position's key and value: amax / 127, as
// activations are rounded (matmul/quantize.h).
// What no query may see is never touched by arithmetic that reaches a result: pages may hold
// anything there, NaN included.
//
// The tree of one query (a row and a head), whatever else is in the call:
//   q'[d] = q[d] * scale
//   each page, over its visible positions:
//     s[j] = chain over d from 0 of fma(q'[d], k[j][d], s)      int8: times key_scale[j]; the cap
//     m    = max s,  p[j] = exp_f32(s[j] - m)
//     l    = lane i of 16 adds p[i], p[16 + i], p[32 + i], p[48 + i] in order from 0 (positions not
//            visible add 0); reduce16 of the lanes
//     o[d] = chain over visible j from 0 of fma(p[j], v[j][d], o)       int8: p[j] value_scale[j]
//   (m, l, o) of pages are folded left to right within a span of 1,024 absolute positions, then
//   spans left to right; a page or span with nothing visible is skipped. Fold of b into a:
//     n = max(a.m, b.m), f = exp_f32(a.m - n), g = exp_f32(b.m - n)
//     a = (n, fma(b.l, g, a.l * f), fma(b.o, g, a.o * f))
//   out[d] = o[d] / l, or 0 where nothing was visible.
// So a context may be shared among threads: attend_units gives (m, l, o) of pages or of spans,
// merge_units folds them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxcel {

inline constexpr int kAttentionPage = 64;    // positions; equals ops' kPagePositions
inline constexpr int kAttentionSpan = 1024;  // positions, a multiple of the page

enum class KvType : uint8_t { kF16, kBF16, kInt8 };
inline const char* name(KvType t) {
  return t == KvType::kF16 ? "f16" : t == KvType::kBF16 ? "bf16" : "int8";
}

// The pages of one sequence as one KV head sees them. Page i holds positions 64 i to 64 i + 63 and
// starts at memory + ids[i] * stride.
struct KvPages {
  const std::byte* memory;     // of this layer and KV head
  int64_t stride;              // bytes from one page to the next
  const int32_t* ids;          // ids of pages without a visible position are not read
  int64_t key_dim, value_dim;  // multiples of 16
  KvType type;
};

inline int64_t kv_page_bytes(KvType type, int64_t key_dim, int64_t value_dim) {
  const int64_t both = key_dim + value_dim;
  return kAttentionPage * (type == KvType::kInt8 ? both + 8 : 2 * both);
}

// Writes one position of one KV head, rounded to nearest even.
struct KvAppendArgs {
  const float *k, *v;  // [key_dim], [value_dim]
  std::byte* page;     // kv_page_bytes()
  int64_t slot;        // position % 64
  int64_t key_dim, value_dim;
  KvType type;
};
void append_kv(const KvAppendArgs& args);

struct AttendArgs {
  KvPages kv;
  // Query (row, head) starts at q + row * q_stride + head * key_dim. The heads are those that share
  // this KV head.
  const float* q;
  int64_t q_stride;
  int64_t rows, heads;
  const int32_t *low, *high;  // [rows]: a row sees positions low <= j < high; 0 <= low
  float scale, softcap;       // softcap 0: none
  float* out;                 // attend: [row * out_stride + head * value_dim + d]
  int64_t out_stride;
  float* scratch;  // attend_scratch(key_dim, value_dim) floats, one per thread
};

int64_t attend_scratch(int64_t key_dim, int64_t value_dim);

// The whole range of every row.
void attend(const AttendArgs& args);

// Units of one page, or of a span's 16: only units first <= u < last (unit u starts at position
// 64 * pages * u). Each goes to partials + u * attend_unit_floats() as m[queries], l[queries],
// o[queries][value_dim], with query = row * heads + head; l is 0 where nothing is visible. `out` is
// not used.
int64_t attend_unit_floats(const AttendArgs& args);
void attend_units(const AttendArgs& args, int pages, int64_t first, int64_t last, float* partials);

// Folds units first <= u < last of every query, left to right, into out. If they cover all that is
// visible: bits of attend().
void merge_units(const AttendArgs& args, int pages, int64_t first, int64_t last,
                 const float* partials);

}  // namespace mlxcel
