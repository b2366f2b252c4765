// Queries are taken in blocks of up to 12 that share each read of a page; within a block, register
// tiles of up to 6.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_cpu.cc"
#include "kernels/targets.h"

#include "kernels/attention/chains-inl.h"
#include "kernels/elementwise/elementwise-inl.h"

#ifndef MLXCEL_ATTENTION_ONCE
#define MLXCEL_ATTENTION_ONCE
namespace mlxcel {
inline constexpr int kAttentionBlock = 12;
inline constexpr int kSpanPages = kAttentionSpan / kAttentionPage;

struct Positions {  // 0 to 63
  float at[kAttentionPage];
};
inline constexpr Positions kPositions = [] {
  Positions p = {};
  for (int i = 0; i < kAttentionPage; i++) p.at[i] = static_cast<float>(i);
  return p;
}();
}  // namespace mlxcel
#endif

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// (m, l, o) of up to 12 queries; l = 0: nothing visible yet.
struct States {
  alignas(64) float m[16], l[16];
  float* o;  // [queries, value_dim]

  void clear() {
    for (int i = 0; i < 16; i++) m[i] = kMinusInfinity, l[i] = 0;
  }
};

// a = a folded with b; queries of which b has seen nothing keep their state.
void fold(States& a, const States& b, int queries, int64_t value_dim) {
  const F f;
  alignas(64) float n[16], fa[16], fb[16];
  for (int i = 0; i < 16; i += kWidth) {
    const VF am = hn::Load(f, a.m + i), bm = hn::Load(f, b.m + i);
    const VF top = hn::IfThenElse(hn::Gt(bm, am), bm, am);
    hn::Store(top, f, n + i);
    hn::Store(exp(hn::Sub(am, top)), f, fa + i);
    hn::Store(exp(hn::Sub(bm, top)), f, fb + i);
  }
  for (int q = 0; q < queries; q++) {
    if (b.l[q] == 0) continue;
    float* ao = a.o + q * value_dim;
    const float* bo = b.o + q * value_dim;
    if (a.l[q] == 0) {
      a.m[q] = b.m[q], a.l[q] = b.l[q];
      std::memcpy(ao, bo, value_dim * sizeof(float));
      continue;
    }
    a.m[q] = n[q];
    a.l[q] = std::fma(b.l[q], fb[q], a.l[q] * fa[q]);
    const VF va = hn::Set(f, fa[q]), vb = hn::Set(f, fb[q]);
    for (int64_t d = 0; d < value_dim; d += kWidth) {
      const VF old = hn::Mul(hn::LoadU(f, ao + d), va);
      hn::StoreU(hn::MulAdd(hn::LoadU(f, bo + d), vb, old), f, ao + d);
    }
  }
}

// out[q] = o / l
void finish(const AttendArgs& a, const States& s, int64_t first_query, int queries) {
  const F f;
  for (int q = 0; q < queries; q++) {
    const int64_t query = first_query + q, dim = a.kv.value_dim;
    float* out = a.out + query / a.heads * a.out_stride + query % a.heads * dim;
    const float* o = s.o + q * dim;
    if (s.l[q] == 0) {
      std::fill(out, out + dim, 0.0f);
      continue;
    }
    const VF l = hn::Set(f, s.l[q]);
    for (int64_t d = 0; d < dim; d += kWidth) {
      hn::StoreU(hn::Div(hn::LoadU(f, o + d), l), f, out + d);
    }
  }
}

// Queries of one row tile, inside a page: which positions each sees.
struct Tile {
  int queries = 0;
  int low[kTile], high[kTile];  // within the page; low >= high: none
  bool sees(int q) const { return low[q] < high[q]; }
};

// One query's scores of a page become weights p, in place; gives m and l. `scales`: of keys, then
// of values, for int8.
template <class E>
void soften(float* s, int low, int high, const float* scales, float cap, float* m, float* l) {
  const F f;
  constexpr int kRegisters = kAttentionPage / kWidth;
  VF v[kRegisters];
  const bool whole = low == 0 && high == kAttentionPage;
  const auto visible = [&](int i) HWY_ATTR {
    const VF j = hn::LoadU(f, kPositions.at + i * kWidth);
    return hn::And(hn::Ge(j, hn::Set(f, static_cast<float>(low))),
                   hn::Lt(j, hn::Set(f, static_cast<float>(high))));
  };
  VF top = hn::Set(f, kMinusInfinity);
  for (int i = 0; i < kRegisters; i++) {
    v[i] = hn::LoadU(f, s + i * kWidth);
    if (E::kScaled) v[i] = hn::Mul(v[i], hn::LoadU(f, scales + i * kWidth));
    if (cap > 0) v[i] = softcap(v[i], hn::Set(f, cap));
    if (!whole) v[i] = hn::IfThenElse(visible(i), v[i], hn::Set(f, kMinusInfinity));
    top = hn::Max(top, v[i]);
  }
  top = hn::MaxOfLanes(f, top);
  Lanes sum = Lanes::set(0);
  for (int i = 0; i < kRegisters; i++) {
    v[i] = exp(hn::Sub(v[i], top));  // 0 where not visible
    sum.v[i % kParts] = hn::Add(sum.v[i % kParts], v[i]);
    if (E::kScaled) v[i] = hn::Mul(v[i], hn::LoadU(f, scales + kAttentionPage + i * kWidth));
    hn::StoreU(v[i], f, s + i * kWidth);
  }
  *m = hn::GetLane(top), *l = reduce_sum(sum);
}

// o[q] = sum of p[q][j] v[j] over what each query sees: first what precedes the positions that all
// see, then these, then the rest, so that each chain keeps its order.
template <class E>
void values(const Tile& t, const float* p, const typename E::Stored* v, int64_t dim, float* o,
            const typename E::Stored* next) {
  int low = 0, high = kAttentionPage, least = kAttentionPage;
  for (int q = 0; q < t.queries; q++) {
    if (!t.sees(q)) continue;  // its sums are not used
    low = std::max(low, t.low[q]), least = std::min(least, t.low[q]);
    high = std::min(high, t.high[q]);
  }
  if (low >= high) low = high = kAttentionPage;  // no common position: each query by itself
  Chains<E> c = {p, v, dim, low, high, o, dim, true, next};
  const auto alone = [&](int q, int first, int last) {
    if (first >= last) return;
    Chains<E> one = c;
    one.a = p + q * kAttentionPage, one.c = o + q * dim;
    one.first = first, one.last = last, one.fresh = false;
    chains<RowsOf<kAttentionPage>>(one, 1, 0, dim);
  };
  if (least < low) {
    std::fill(o, o + t.queries * dim, 0.0f);
    c.fresh = false;
    for (int q = 0; q < t.queries; q++) {
      if (t.sees(q)) alone(q, t.low[q], std::min(low, t.high[q]));
    }
  }
  if (low < high) chains<RowsOf<kAttentionPage>>(c, t.queries, 0, dim);
  for (int q = 0; q < t.queries; q++) {
    if (t.sees(q)) alone(q, std::max(high, t.low[q]), t.high[q]);
  }
}

// A block of up to 12 queries.
template <class E>
class Block {
  using Stored = typename E::Stored;

 public:
  Block(const AttendArgs& args, int64_t first_query, int queries)
      : a_(args), first_(first_query), queries_(queries) {
    tiles_ = (queries + kTile - 1) / kTile;
    const int64_t dim = a_.kv.value_dim;
    q_ = a_.scratch;
    p_ = q_ + kAttentionBlock * a_.kv.key_dim;
    page_.o = p_ + kAttentionBlock * kAttentionPage;
    span_.o = page_.o + kAttentionBlock * dim;
    all_.o = span_.o + kAttentionBlock * dim;
    page_.clear(), span_.clear(), all_.clear();
    low_ = INT32_MAX, high_ = 0;
    for (int q = 0; q < queries; q++) {
      const int64_t row = (first_ + q) / a_.heads;
      if (a_.low[row] >= a_.high[row]) continue;
      low_ = std::min<int64_t>(low_, a_.low[row]), high_ = std::max<int64_t>(high_, a_.high[row]);
    }
    for (int t = 0; t < tiles_; t++) pack(t);
  }

  void attend() {
    if (low_ < high_) {
      const int64_t first = low_ / kAttentionSpan, last = (high_ - 1) / kAttentionSpan;
      for (int64_t s = first; s <= last; s++) {
        span(s);
        if (first == last) return finish(a_, span_, first_, queries_);
        fold(all_, span_, queries_, a_.kv.value_dim);
      }
    }
    finish(a_, all_, first_, queries_);
  }

  // (m, l, o) of unit u to the memory of that unit.
  void unit(int pages, int64_t u, float* to) {
    const int64_t all = a_.rows * a_.heads;
    States& state = pages == 1 ? page_ : span_;
    state.o = to + 2 * all + first_ * a_.kv.value_dim;
    if (pages == 1) {
      page_.clear();
      for (int t = 0; t < tiles_; t++) page(t, u);
    } else {
      span(u);
    }
    std::copy_n(state.m, queries_, to + first_);
    std::copy_n(state.l, queries_, to + all + first_);
  }

 private:
  int tile_first(int t) const { return t * queries_ / tiles_; }

  // Queries of a tile, scaled, side by side: [key_dim][queries].
  void pack(int t) {
    const int first = tile_first(t), n = tile_first(t + 1) - first;
    float* to = q_ + first * a_.kv.key_dim;
    for (int q = 0; q < n; q++) {
      const int64_t query = first_ + first + q;
      const float* from = a_.q + query / a_.heads * a_.q_stride + query % a_.heads * a_.kv.key_dim;
      for (int64_t d = 0; d < a_.kv.key_dim; d++) to[d * n + q] = from[d] * a_.scale;
    }
  }

  void span(int64_t s) {
    span_.clear();
    const int64_t first = std::max(low_ / kAttentionPage, s * kSpanPages);
    const int64_t last =
        std::min((high_ + kAttentionPage - 1) / kAttentionPage, (s + 1) * kSpanPages);
    for (int64_t i = first; i < last; i++) {
      page_.clear();
      bool any = false;
      for (int t = 0; t < tiles_; t++) any |= page(t, i);
      if (any) fold(span_, page_, queries_, a_.kv.value_dim);
    }
  }

  // False if no query of the tile sees a position of page i: it is then not read.
  bool page(int t, int64_t i) {
    const int first = tile_first(t);
    Tile tile;
    tile.queries = tile_first(t + 1) - first;
    int low = kAttentionPage, high = 0;
    for (int q = 0; q < tile.queries; q++) {
      const int64_t row = (first_ + first + q) / a_.heads, start = i * kAttentionPage;
      tile.low[q] = static_cast<int>(std::clamp<int64_t>(a_.low[row] - start, 0, kAttentionPage));
      tile.high[q] = static_cast<int>(std::clamp<int64_t>(a_.high[row] - start, 0, kAttentionPage));
      if (!tile.sees(q)) continue;
      low = std::min(low, tile.low[q]), high = std::max(high, tile.high[q]);
    }
    if (low >= high) return false;
    const auto at = [&](int64_t j) {
      return reinterpret_cast<const Stored*>(a_.kv.memory + a_.kv.ids[j] * a_.kv.stride);
    };
    const Stored *k = at(i), *v = k + a_.kv.key_dim * kAttentionPage;
    const auto* scales = reinterpret_cast<const float*>(v + a_.kv.value_dim * kAttentionPage);
    const Stored* next = (i + 1) * kAttentionPage < high_ ? at(i + 1) : v;
    float* p = p_ + first * kAttentionPage;
    const Chains<E> scores = {q_ + first * a_.kv.key_dim,
                              k,
                              kAttentionPage,
                              0,
                              a_.kv.key_dim,
                              p,
                              kAttentionPage,
                              true,
                              v};
    chains<TileOfQueries>(scores, tile.queries, low / 16 * 16, (high + 15) / 16 * 16);
    for (int q = 0; q < tile.queries; q++) {
      if (!tile.sees(q)) continue;
      soften<E>(p + q * kAttentionPage, tile.low[q], tile.high[q], scales, a_.softcap,
                &page_.m[first + q], &page_.l[first + q]);
    }
    values<E>(tile, p, v, a_.kv.value_dim, page_.o + first * a_.kv.value_dim, next);
    return true;
  }

  const AttendArgs& a_;
  int64_t first_;
  int queries_, tiles_;
  int64_t low_, high_;  // what the queries see together
  float *q_, *p_;
  States page_, span_, all_;
};

// Blocks of equal size, as few as possible.
template <class Body>
void for_each_block(const AttendArgs& a, Body body) {
  const int64_t queries = a.rows * a.heads;
  const int64_t blocks = (queries + kAttentionBlock - 1) / kAttentionBlock;
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t first = b * queries / blocks, last = (b + 1) * queries / blocks;
    body(first, static_cast<int>(last - first));
  }
}

template <class Body>
void for_type(KvType type, Body body) {
  if (type == KvType::kF16) return body(HalfElement());
  if (type == KvType::kBF16) return body(BrainElement());
  body(ByteElement());
}

void attend(const AttendArgs& a) {
  for_type(a.kv.type, [&](auto element) {
    for_each_block(a,
                   [&](int64_t first, int n) { Block<decltype(element)>(a, first, n).attend(); });
  });
}

void attend_units(const AttendArgs& a, int pages, int64_t from, int64_t to, float* partials) {
  const int64_t floats = attend_unit_floats(a);
  for_type(a.kv.type, [&](auto element) {
    for_each_block(a, [&](int64_t first, int n) {
      Block<decltype(element)> block(a, first, n);
      for (int64_t u = from; u < to; u++) block.unit(pages, u, partials + u * floats);
    });
  });
}

void merge_units(const AttendArgs& a, int pages, int64_t from, int64_t to, const float* partials) {
  const int64_t dim = a.kv.value_dim, queries = a.rows * a.heads, floats = attend_unit_floats(a);
  for_each_block(a, [&](int64_t first, int n) {
    States all, span, unit;
    span.o = a.scratch, all.o = a.scratch + kAttentionBlock * dim;
    all.clear(), span.clear(), unit.clear();
    for (int64_t u = from; u < to; u++) {
      const float* at = partials + u * floats;
      std::copy_n(at + first, n, unit.m), std::copy_n(at + queries + first, n, unit.l);
      unit.o = const_cast<float*>(at + 2 * queries + first * dim);  // only read
      if (pages > 1 || u % kSpanPages == 0) fold(all, span, n, dim), span.clear();
      fold(span, unit, n, dim);
    }
    fold(all, span, n, dim);
    finish(a, all, first, n);
  });
}

// Sixteen floats as stored.
HWY_INLINE void store_some(HalfElement, const float* x, float, uint16_t* to) {
  for (int i = 0; i < 16; i += kWidth) store_f16(hn::LoadU(F(), x + i), to + i);
}
HWY_INLINE void store_some(BrainElement, const float* x, float, uint16_t* to) {
  for (int i = 0; i < 16; i += kWidth) store_bf16(hn::LoadU(F(), x + i), to + i);
}
HWY_INLINE void store_some(ByteElement, const float* x, float inverse, int8_t* to) {
  const hn::Rebind<int8_t, F> d8;
  for (int i = 0; i < 16; i += kWidth) {
    const auto code = hn::NearestInt(hn::Mul(hn::LoadU(F(), x + i), hn::Set(F(), inverse)));
    hn::StoreU(hn::DemoteTo(d8, code), d8, to + i);
  }
}

// The scale of n floats, and what they are multiplied with to become codes: 0 where these are 0.
HWY_INLINE float byte_scale(const float* x, int64_t n, float* inverse) {
  uint32_t most = 0;  // for magnitudes, integers order as floats do
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    most = std::max(most, bits & 0x7fffffffu);
  }
  float amax;
  std::memcpy(&amax, &most, 4);
  const bool finite = most < 0x7f800000u, code = finite && amax >= 0x1p-100f;
  *inverse = code ? 127.0f / amax : 0.0f;
  return !finite ? std::numeric_limits<float>::quiet_NaN() : code ? amax / 127.0f : 0.0f;
}

template <class E>
void append(E element, const KvAppendArgs& a) {
  auto* page = reinterpret_cast<typename E::Stored*>(a.page);
  auto* value = page + kAttentionPage * a.key_dim;
  auto* scales = reinterpret_cast<float*>(value + kAttentionPage * a.value_dim);
  float inverse_k = 0, inverse_v = 0;
  if (E::kScaled) {
    scales[a.slot] = byte_scale(a.k, a.key_dim, &inverse_k);
    scales[kAttentionPage + a.slot] = byte_scale(a.v, a.value_dim, &inverse_v);
  }
  for (int64_t d = 0; d < a.key_dim; d += 16) {
    typename E::Stored some[16];
    store_some(element, a.k + d, inverse_k, some);
    for (int i = 0; i < 16; i++) page[(d + i) * kAttentionPage + a.slot] = some[i];
  }
  for (int64_t d = 0; d < a.value_dim; d += 16) {
    store_some(element, a.v + d, inverse_v, value + a.slot * a.value_dim + d);
  }
}

void append_kv(const KvAppendArgs& a) {
  for_type(a.type, [&](auto element) { append(element, a); });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {

int64_t attend_scratch(int64_t key_dim, int64_t value_dim) {
  return kAttentionBlock * (key_dim + kAttentionPage + 3 * value_dim);
}

int64_t attend_unit_floats(const AttendArgs& args) {
  return args.rows * args.heads * (args.kv.value_dim + 2);
}

void append_kv(const KvAppendArgs& args) { MLXCEL_DISPATCH(append_kv)(args); }
void attend(const AttendArgs& args) { MLXCEL_DISPATCH(attend)(args); }
void attend_units(const AttendArgs& args, int pages, int64_t first, int64_t last, float* partials) {
  MLXCEL_DISPATCH(attend_units)(args, pages, first, last, partials);
}
void merge_units(const AttendArgs& args, int pages, int64_t first, int64_t last,
                 const float* partials) {
  MLXCEL_DISPATCH(merge_units)(args, pages, first, last, partials);
}

}  // namespace mlxcel
#endif
