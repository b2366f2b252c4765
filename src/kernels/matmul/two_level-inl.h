// Matmul of codes whose scales have two levels, in groups of 256 activations: integer sub-scales
// stay in the integer sum.
//
// Sub-scales are spread to 16-bit lanes once per record and used for all rows. As in
// one_level-inl.h few rows unpack codes in registers, many rows go through panels in L1. Include
// after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_TWO_LEVEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_TWO_LEVEL_INL
#undef MLXCEL_TWO_LEVEL_INL
#else
#define MLXCEL_TWO_LEVEL_INL
#endif

#include <algorithm>

#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/quantize.h"
#include "kernels/matmul/share.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

using quant::SubScales;

// `bias`: minima are stored. `sub`: k per sub-scale.
template <Code code, SubScales subs, bool bias, int offset, int sub, DotBy by = DotBy::kWidest>
struct TwoLevel {
  static constexpr Code kCode = code;
  static constexpr SubScales kSubs = subs;
  static constexpr bool kBias = bias;
  static constexpr int kOffset = offset, kSub = sub, kPairs = 128 / sub;
  using Dot = typename SubDotOf<CodeOf<code>::kMax, sub / 4, by>::Type;
};

// Sub-scales of one record in 16-bit lanes, two for each output.
struct Spread {
  alignas(64) int16_t scale[16][32];  // [sub]: the same in both lanes
  int16_t pair[8][32];  // minima (or, where none are stored, scales) of subs 2 p and 2 p + 1
  float d[16], min[16];
};

using I16 = hn::CappedTag<int16_t, 32>;
using V16 = hn::Vec<I16>;
using U32 = hn::Repartition<uint32_t, I16>;
inline constexpr int kLanes16 = 32 / kRegs;

// Pairs (a, b) in the lanes of an output -> (a, a) and (b, b).
HWY_INLINE void store_both(V16 pairs, int r, int16_t* even, int16_t* odd) {
  const auto w = hn::BitCast(U32(), pairs);
  const auto low = hn::And(w, hn::Set(U32(), 0xffff)), high = hn::ShiftRight<16>(w);
  const auto a = hn::Or(low, hn::ShiftLeft<16>(low)), b = hn::Or(high, hn::ShiftLeft<16>(high));
  hn::StoreU(hn::BitCast(I16(), a), I16(), even + r * kLanes16);
  hn::StoreU(hn::BitCast(I16(), b), I16(), odd + r * kLanes16);
}

template <class Byte>
HWY_INLINE V16 widen(const uint8_t* p, int r) {  // 32 bytes -> 16-bit lanes, register r
  const hn::Rebind<Byte, I16> d;
  return hn::PromoteTo(I16(), hn::LoadU(d, reinterpret_cast<const Byte*>(p) + r * kLanes16));
}

template <SubScales kSubs>
HWY_INLINE void spread_pair(const uint8_t* p, int i, int r, Spread* s) {
  V16 pair;
  if constexpr (kSubs == SubScales::kNibbles) {
    const V16 both = widen<uint8_t>(p + 32 * i, r);
    hn::StoreU(hn::ShiftRight<4>(both), I16(), s->pair[i] + r * kLanes16);
    pair = hn::And(both, hn::Set(I16(), 15));
  } else {
    if constexpr (kSubs == SubScales::kSigned) {
      pair = widen<int8_t>(p + 32 * i, r);
    } else {
      const V16 low = widen<uint8_t>(p + i % 4 * 32, r),
                high = widen<uint8_t>(p + 128 + i % 2 * 32, r);
      const V16 four = hn::And(i < 4 ? low : hn::ShiftRight<4>(low), hn::Set(I16(), 15));
      const V16 two = hn::And(hn::ShiftRightSame(high, i / 2 * 2), hn::Set(I16(), 3));
      pair = hn::Sub(hn::Or(four, hn::ShiftLeft<4>(two)), hn::Set(I16(), 32));
    }
    hn::StoreU(pair, I16(), s->pair[i] + r * kLanes16);
  }
  store_both(pair, r, s->scale[2 * i], s->scale[2 * i + 1]);
}

template <class K>
HWY_NOINLINE void spread(const quant::Layout& l, const uint8_t* record, Spread* s) {
  const uint8_t* p = record + l.subs;
  if constexpr (K::kSubs == SubScales::kBytes) {
    for (int i = 0; i < 8; i++) {
      for (int r = 0; r < kRegs; r++) {
        const auto bytes = hn::LoadU(hn::Rebind<uint8_t, U32>(), p + i * 16 + r * (16 / kRegs));
        const auto w = hn::PromoteTo(U32(), bytes);
        hn::StoreU(hn::BitCast(I16(), hn::Or(w, hn::ShiftLeft<16>(w))), I16(),
                   s->scale[i] + r * kLanes16);
      }
    }
    for (int i = 0; i < 4; i++) {
      for (int r = 0; r < kRegs; r++) {
        hn::StoreU(widen<uint8_t>(p + 128 + 32 * i, r), I16(), s->pair[i] + r * kLanes16);
      }
    }
  } else {
    for (int i = 0; i < 8; i++) {
      for (int r = 0; r < kRegs; r++) spread_pair<K::kSubs>(p, i, r, s);
    }
  }
  promote<hwy::float16_t>(record + l.scales).store(s->d);
  if (K::kBias) promote<hwy::float16_t>(record + l.biases).store(s->min);
}

// One step of the chains of kRows rows x 16 outputs. load.quad<j>(u, side) gives codes of unit u.
template <class K, int kRows, class Load>
HWY_INLINE void step_two(const Load& load, const Spread& s, const Tile<256>* x, int64_t tiles,
                         Lanes* y) {
  using D = typename K::Dot;
  Ints dots[kRows];
  for (int side = 0; side < kSides; side++) {
    D dot[kRows];
    for (D& d : dot) d.clear();
    for (int u = 0; u < 8; u++) {
      unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
        const typename D::Factors q(load.template quad<j.value>(u, side));
        const LaneScale scale = LaneScale::load(s.scale[(u * 32 + 4 * j.value) / K::kSub], side);
        MLXCEL_UNROLL
        for (int t = 0; t < kRows; t++) {
          dot[t].template add<8 + j.value>(q, x[t / 4 * tiles].x[t % 4] + 32 * u + 4 * j, scale);
        }
      });
    }
    for (int t = 0; t < kRows; t++) {
      for (int r = 0; r < kSide; r++) dots[t].v[side * kSide + r] = dot[t].ints(r);
    }
  }
  const Lanes d = Lanes::load(s.d), min = Lanes::load(s.min);
  MLXCEL_UNROLL
  for (int t = 0; t < kRows; t++) {
    const Tile<256>& tile = x[t / 4 * tiles];
    const Lanes xscale = Lanes::set(tile.scale[t % 4]);
    const int16_t* part = K::kSub == 32 ? tile.part32[t % 4] : tile.part16[t % 4];
    Ints sum = zero_ints();
    for (int p = 0; p < K::kPairs; p++) add_pair(&sum, s.pair[p], part + 2 * p);
    const Ints ints = minus_scaled<K::kOffset>(dots[t], sum);
    if (K::kBias) y[t] = fma(min * xscale, to_floats(minus_scaled<1>(zero_ints(), sum)), y[t]);
    y[t] = fma(d * xscale, to_floats(ints), y[t]);
  }
}

// ---- few rows ----

template <Code kCode>
struct PackedUnits {
  const uint8_t* record;
  template <int kJ>
  HWY_INLINE Codes quad(int u, int side) const {
    constexpr int kBytes = CodeOf<kCode>::kBits * 64, kAhead = 5120;
    if constexpr (kJ < CodeOf<kCode>::kBits + (kJ == 7)) {
      if (side == 0) __builtin_prefetch(record + u * kBytes + kAhead + 64 * kJ);
    }
    return load_quad<kCode, kJ>(record + u * kBytes, side);
  }
};

template <class K, int kRows>
HWY_NOINLINE void direct_two(const Share& s, int64_t b, int64_t m) {
  const int64_t records = s.in / 256;
  const auto* x = static_cast<const Tile<256>*>(s.x) + m / 4 * records;
  const uint8_t* record = s.block(b);
  Lanes y[kRows];
  for (Lanes& v : y) v = Lanes::set(0);
  Spread subs;
  for (int64_t r = 0; r < records; r++, record += s.layout.bytes, x++) {
    spread<K>(s.layout, record, &subs);
    step_two<K, kRows>(PackedUnits<K::kCode>{record}, subs, x, records, y);
  }
  for (int t = 0; t < kRows; t++) y[t].store(s.out(m + t, b));
}

template <class K>
void direct_two_rows(const Share& s) {
  for (int64_t b = s.first; b < s.last; b++) {
    for (int64_t m = s.first_row, take; m < s.last_row; m += take) {
      take = std::min<int64_t>(4, s.last_row - m);
      if constexpr (kRegs == 1) {  // AVX-512's 32 registers hold the sums of more
        if (s.last_row - m >= 8) take = 8;
        if (take == 8) direct_two<K, 8>(s, b, m);
      }
      if (take == 4) direct_two<K, 4>(s, b, m);
      if (take == 3) direct_two<K, 3>(s, b, m);
      if (take == 2) direct_two<K, 2>(s, b, m);
      if (take == 1) direct_two<K, 1>(s, b, m);
    }
  }
}

// ---- many rows ----

struct PanelTwo {  // 256 k of 16 outputs
  uint8_t q[64][64];
  Spread subs;
};
inline constexpr int64_t kPanelsTwo = 3;        // 17 KB of L1
inline constexpr int64_t kStepAhead = 16 * 64;  // bytes of a record that a step prefetches

// `ahead`: where the record lies that will be in this panel next.
struct PanelUnits {
  const PanelTwo* panel;
  const uint8_t* ahead;
  template <int kJ>
  HWY_INLINE Codes quad(int u, int side) const {
    if constexpr (kJ % 4 == 0) {
      if (side == 0) __builtin_prefetch(ahead + 64 * (2 * u + kJ / 4));
    }
    Codes c;
    for (int r = 0; r < kSide; r++) {
      c.v[r] = hn::LoadU(B(), panel->q[8 * u + kJ] + (side * kSide + r) * (64 / kRegs));
    }
    return c;
  }
};

template <class K>
HWY_NOINLINE void fill_panel_two(const quant::Layout& l, const uint8_t* record, PanelTwo* p) {
  for (int u = 0; u < 8; u++) {
    unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
      for (int r = 0; r < kRegs; r++) {
        hn::StoreU(load_codes<K::kCode, j.value>(record + u * l.unit, r), B(),
                   p->q[8 * u + j] + r * (64 / kRegs));
      }
    });
  }
  spread<K>(l, record, &p->subs);
}

template <class K, int kRows>
HWY_NOINLINE void panel_two_rows(const PanelTwo* p, int64_t n, const Tile<256>* x, int64_t tiles,
                                 float* y, int64_t ldy, bool first, const uint8_t* ahead,
                                 int64_t record_bytes) {
  Lanes acc[kRows];
  for (int t = 0; t < kRows; t++) acc[t] = first ? Lanes::set(0) : Lanes::load(y + t * ldy);
  for (int64_t g = 0; g < n; g++, p++, x++, ahead += record_bytes) {
    step_two<K, kRows>(PanelUnits{p, ahead}, p->subs, x, tiles, acc);
  }
  for (int t = 0; t < kRows; t++) acc[t].store(y + t * ldy);
}

// panel_two_rows of `rows`, 1 to 4.
template <class K, int kRows = 4, class... Args>
void panel_two_some_rows(int rows, Args... args) {
  if (rows == kRows) return panel_two_rows<K, kRows>(args...);
  if constexpr (kRows > 1) panel_two_some_rows<K, kRows - 1>(rows, args...);
}

template <class K>
void panel_two(const Share& s) {
  alignas(64) PanelTwo panels[kPanelsTwo];
  const int64_t groups = s.in / 256, bytes = s.layout.bytes;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPassRows) {
    const int64_t m1 = std::min(s.last_row, m0 + kPassRows);
    for (int64_t b = s.first; b < s.last; b++) {
      for (int64_t g = 0; g < groups; g += kPanelsTwo) {
        const int64_t n = std::min(kPanelsTwo, groups - g);
        for (int64_t i = 0; i < n; i++) {
          fill_panel_two<K>(s.layout, s.block(b) + (g + i) * bytes, panels + i);
        }
        const uint8_t* next = s.block(b) + (g + n) * bytes;
        for (int64_t m = m0; m < m1; m += 4) {
          const auto* x = static_cast<const Tile<256>*>(s.x) + m / 4 * groups + g;
          const auto rows = static_cast<int>(std::min<int64_t>(4, m1 - m));
          const int64_t ahead = std::min((m - m0) / 4 * kStepAhead, bytes - kStepAhead);
          panel_two_some_rows<K>(rows, panels, n, x, groups, s.out(m, b), s.ldy, g == 0,
                                 next + ahead, bytes);
        }
      }
    }
  }
}

template <class K>
void two_level(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, [](const Share& s) {
    if (s.last_row - s.first_row >= kPanelFrom) return panel_two<K>(s);
    direct_two_rows<K>(s);
  });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
