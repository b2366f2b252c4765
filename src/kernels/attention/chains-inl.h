// Many chains of fused multiply-adds over a matrix of halves or bytes: both products of attention.
//
//   c[q][i] = fma(a[q][k], b[k][i], c[q][i])  for k = first, ..., last - 1 in order
//
// Lanes are columns i of b, so a chain's order does not depend on the registers used, on the number
// of queries, nor on where it is cut. Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_CHAINS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_CHAINS_INL
#undef MLXCEL_CHAINS_INL
#else
#define MLXCEL_CHAINS_INL
#endif

#include "kernels/convert/convert-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

inline constexpr int kTile = 6;  // queries of a register tile

// Registers of b's columns that Q queries hold accumulators for. Eight chains hide the latency of a
// fused multiply-add (4 cycles, 2 a cycle); AVX2 has 16 registers, the others 32.
constexpr int columns_of(int queries) {
  if (kParts == 2) return queries == 1 ? 8 : queries <= 3 ? 4 : 2;
  if (kParts == 1) return 4;
  return queries <= 3 ? 8 : 4;
}

// Where a[q][k] is: at k * k_step + q * q_step.
struct TileOfQueries {  // queries side by side
  static constexpr int k_step(int queries) { return queries; }
  static constexpr int q_step(int) { return 1; }
};
template <int kStride>
struct RowsOf {  // one query per row
  static constexpr int k_step(int) { return 1; }
  static constexpr int q_step(int) { return kStride; }
};

// How the matrix's elements become floats.
struct HalfElement {
  using Stored = uint16_t;
  static constexpr bool kScaled = false;
  HWY_INLINE static VF load(const uint16_t* p) { return load_f16(p); }
};
struct BrainElement {
  using Stored = uint16_t;
  static constexpr bool kScaled = false;
  HWY_INLINE static VF load(const uint16_t* p) { return load_bf16(p); }
};
struct ByteElement {
  using Stored = int8_t;
  static constexpr bool kScaled = true;
  HWY_INLINE static VF load(const int8_t* p) {
    const hn::RebindToSigned<F> i;
    return hn::ConvertTo(F(), hn::PromoteTo(i, hn::LoadU(hn::Rebind<int8_t, F>(), p)));
  }
};

template <class E>
struct Chains {
  const float* a;
  const typename E::Stored* b;  // [k][b_stride]
  int64_t b_stride;
  int64_t first, last;
  float* c;  // [q][c_stride]
  int64_t c_stride;
  bool fresh;  // c starts from 0
  // What is read after b, fetched meanwhile element for element: a core alone waits for memory.
  // Into L2: L1 has no room for it beside what is in use.
  const typename E::Stored* next;
};

template <int Q, int N, class A, class E>
HWY_INLINE void chain_tile(const Chains<E>& t, int64_t column) {
  const F f;
  VF acc[Q][N];
  HWY_UNROLL(8)
  for (int q = 0; q < Q; q++) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; n++) {
      acc[q][n] = t.fresh ? hn::Zero(f) : hn::LoadU(f, t.c + q * t.c_stride + column + n * kWidth);
    }
  }
  constexpr int kLine = 64 / sizeof(typename E::Stored), kLines = (N * kWidth + kLine - 1) / kLine;
  const typename E::Stored* b = t.b + t.first * t.b_stride + column;
  const typename E::Stored* next = t.next + column * (t.last - t.first);
  const float* a = t.a + t.first * A::k_step(Q);
  for (int64_t k = t.first; k < t.last;
       k++, b += t.b_stride, next += N * kWidth, a += A::k_step(Q)) {
    for (int i = 0; i < kLines; i++) __builtin_prefetch(next + kLine * i, 0, 2);
    // The fewer of both operands stay in registers, the others pass by.
    if constexpr (Q <= N) {
      VF x[Q];
      HWY_UNROLL(8)
      for (int q = 0; q < Q; q++) x[q] = hn::Set(f, a[q * A::q_step(Q)]);
      HWY_UNROLL(8)
      for (int n = 0; n < N; n++) {
        const VF y = E::load(b + n * kWidth);
        HWY_UNROLL(8)
        for (int q = 0; q < Q; q++) acc[q][n] = hn::MulAdd(x[q], y, acc[q][n]);
      }
    } else {
      VF y[N];
      HWY_UNROLL(8)
      for (int n = 0; n < N; n++) y[n] = E::load(b + n * kWidth);
      HWY_UNROLL(8)
      for (int q = 0; q < Q; q++) {
        const VF x = hn::Set(f, a[q * A::q_step(Q)]);
        HWY_UNROLL(8)
        for (int n = 0; n < N; n++) acc[q][n] = hn::MulAdd(x, y[n], acc[q][n]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int q = 0; q < Q; q++) {
    HWY_UNROLL(8)
    for (int n = 0; n < N; n++) {
      hn::StoreU(acc[q][n], f, t.c + q * t.c_stride + column + n * kWidth);
    }
  }
}

// Columns from <= i < to, multiples of 16.
template <int Q, class A, class E>
void chain_columns(const Chains<E>& t, int64_t from, int64_t to) {
  constexpr int kN = columns_of(Q);
  int64_t i = from;
  for (; i + kN * kWidth <= to; i += kN * kWidth) chain_tile<Q, kN, A>(t, i);
  if constexpr (kN > kParts) {
    for (; i < to; i += 16) chain_tile<Q, kParts, A>(t, i);
  }
}

template <class A, class E>
void chains(const Chains<E>& t, int queries, int64_t from, int64_t to) {
  switch (queries) {
    case 1:
      return chain_columns<1, A>(t, from, to);
    case 2:
      return chain_columns<2, A>(t, from, to);
    case 3:
      return chain_columns<3, A>(t, from, to);
    case 4:
      return chain_columns<4, A>(t, from, to);
    case 5:
      return chain_columns<5, A>(t, from, to);
    default:
      return chain_columns<6, A>(t, from, to);
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
