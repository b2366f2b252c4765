// Matmul of many rows by AMX: a tile instruction makes the integer dots of 16 rows x 16 outputs x
// up to 64 k. Integers are exact in any order, and what follows is the tree of matmul.h, so bits
// are those of every other instruction set.
//
// One level: one tile product for each group of 32 k; then scales are the work (4 vector operations
// for each row of 16 outputs), so while one group's dots are scaled the next group's are made.
// Two levels: sub-scales go into the weights, sub * (code - offset) = 128 high + low with both
// parts in a byte, so that the dots of a whole group of 256 k stay in tiles.
// Include after versions-inl.h, inside no namespace, for AVX3_DL alone.
#pragma once

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace amx {

inline constexpr int kRows = 16;  // of a tile
// Row tiles and k of a pass: few enough that its codes (123 KB) and its outputs stay in L2.
inline constexpr int64_t kRowTiles = 4, kDepth = 1536;
inline constexpr int64_t kRowTilesTwo = 8;  // two levels: their panels take longer to fill
// Blocks whose panels lie in L1 together: the rows of a tile come from L2 once for all of them.
inline constexpr int64_t kTogether = 2;

// Written as assembly, so that the functions around need no target that AVX-512 code lacks.
// Tiles 0 to 3: sums [16 rows][16 outputs]; 4, 5: activations [16 rows][k]; 6, 7: weights
// [k / 4][16 outputs][4].
template <int kTile>
HWY_INLINE void load(const void* p, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void store(void* p) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(int64_t{64}), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kSum, int kX, int kW, bool kSigned>
HWY_INLINE void multiply() {
  if (kSigned) {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kX), "i"(kW));
  } else {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kX), "i"(kW));
  }
}

// Tiles of `depth` k while this lives.
class Tiles {
 public:
  explicit Tiles(int depth) {
    alignas(64) struct {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } c;
    for (int i = 0; i < 8; i++) {
      c.row_bytes[i] = static_cast<uint16_t>(i == 4 || i == 5 ? depth : 64);
      c.rows[i] = static_cast<uint8_t>(i >= 6 ? depth / 4 : kRows);
    }
    asm volatile("ldtilecfg %0" ::"m"(c) : "memory");
  }
  ~Tiles() { asm volatile("tilerelease" ::: "memory"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

using Sums = int32_t[kRows][16];

HWY_INLINE Ints load_ints(const int32_t* p) {
  Ints s;
  s.v[0].raw = _mm512_load_si512(p);
  return s;
}

// ---- one level ----

struct Rows32 {  // 16 rows x 32 k
  int8_t x[kRows][32];
  float scale[kRows], sum[kRows];
};

HWY_INLINE void pack_rows(const Tile<32>* from, int64_t tiles, int64_t rows, Rows32* to) {
  if (rows < kRows) *to = {};
  for (int64_t t = 0; t < rows; t++) {
    const Tile<32>& tile = from[t / 4 * tiles];
    std::memcpy(to->x[t], tile.x[t % 4], 32);
    to->scale[t] = tile.scale[t % 4], to->sum[t] = tile.sum[t % 4];
  }
}

// Numbers are made to fit a byte together with their offset, so that nothing is left to subtract.
template <class K>
inline constexpr bool kSignedNumbers = K::kOffset > 0 || (K::kSigned && K::kOffset == 0);

template <class K>
HWY_INLINE void prepare_panels(Panel* p, int64_t n) {
  static_assert(K::kOffset == 0 || K::kOffset == -128 || (K::kOffset > 0 && !K::kSigned));
  if (K::kOffset == 0) return;
  const VB offset = hn::Set(B(), static_cast<uint8_t>(K::kOffset));
  for (; n > 0; n--, p++) {
    for (auto& q : p->q) hn::Store(hn::Sub(hn::Load(B(), q), offset), B(), q);
  }
}

template <class K, int kBuffer>
HWY_INLINE void dots(const Rows32& x, const Panel& p, Sums* c) {
  zero<kBuffer>();
  load<4 + kBuffer>(x.x, 32);
  load<6 + kBuffer>(p.q, 64);
  multiply<kBuffer, 4 + kBuffer, 6 + kBuffer, kSignedNumbers<K>>();
  store<kBuffer>(c[kBuffer]);
}

// The steps of 16 chains over n groups.
template <class K>
HWY_NOINLINE void rows_of_block(const Panel* p, int64_t n, const Rows32* x, float* y, int64_t ldy,
                                int64_t rows, bool first, const uint8_t* ahead, int64_t lines) {
  alignas(64) Sums c[2];
  Lanes acc[kRows];
  MLXCEL_UNROLL
  for (int t = 0; t < kRows; t++) {
    acc[t] = first || t >= rows ? Lanes::set(0) : Lanes::load(y + t * ldy);
  }
  const auto fold = [&](int64_t g) MLXCEL_INLINE_LAMBDA {
    const Lanes scale = Lanes::load(p[g].scale), bias = Lanes::load(p[g].bias);
    MLXCEL_UNROLL
    for (int t = 0; t < kRows; t++) {
      if (K::kBias) acc[t] = fma(bias, Lanes::set(x[g].sum[t]), acc[t]);
      const Lanes dot = to_floats(load_ints(c[g % 2][t]));
      acc[t] = fma(scale * Lanes::set(x[g].scale[t]), dot, acc[t]);
    }
    for (int64_t l = 0; l < lines; l++, ahead += 64) __builtin_prefetch(ahead);
  };
  dots<K, 0>(x[0], p[0], c);
  int64_t g = 0;
  for (; g + 2 < n; g += 2) {
    dots<K, 1>(x[g + 1], p[g + 1], c);
    fold(g);
    dots<K, 0>(x[g + 2], p[g + 2], c);
    fold(g + 1);
  }
  if (g + 1 < n) dots<K, 1>(x[g + 1], p[g + 1], c);
  for (; g < n; g++) fold(g);
  MLXCEL_UNROLL
  for (int t = 0; t < kRows; t++) {
    if (t < rows) acc[t].store(y + t * ldy);
  }
}

template <class K>
void one_level(const Share& s) {
  constexpr int64_t kGroups = kDepth / 32, kPass = kRowTiles * kRows;
  alignas(64) Panel panels[kTogether][kGroups];
  alignas(64) Rows32 x[kRowTiles * kGroups];
  const Tiles tiles(32);
  const int64_t groups = s.in / 32, parts = (groups + kGroups - 1) / kGroups;
  const int64_t part = (groups + parts - 1) / parts, group_bytes = s.block_bytes() / groups;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPass) {
    const int64_t m1 = std::min(s.last_row, m0 + kPass), count = (m1 - m0 + kRows - 1) / kRows;
    for (int64_t g = 0; g < groups; g += part) {
      const int64_t n = std::min(part, groups - g);
      for (int64_t t = 0; t < count; t++) {
        const int64_t m = m0 + t * kRows;
        const auto* from = static_cast<const Tile<32>*>(s.x) + m / 4 * groups + g;
        for (int64_t i = 0; i < n; i++) {
          pack_rows(from + i, groups, std::min<int64_t>(kRows, m1 - m), x + t * n + i);
        }
      }
      const int64_t lines = group_bytes / 64 / count + 1;  // that each step fetches
      for (int64_t b0 = s.first; b0 < s.last; b0 += kTogether) {
        const int64_t b1 = std::min(s.last, b0 + kTogether);
        for (int64_t b = b0; b < b1; b++) {
          fill_panels<K>(s, b, g, n, panels[b - b0]);
          prepare_panels<K>(panels[b - b0], n);
        }
        for (int64_t t = 0; t < count; t++) {
          const int64_t m = m0 + t * kRows;
          for (int64_t b = b0; b < b1; b++) {
            const uint8_t* ahead = s.block(b + kTogether) + g * group_bytes + t * lines * 64 * n;
            rows_of_block<K>(panels[b - b0], n, x + t * n, s.out(m, b), s.ldy,
                             std::min<int64_t>(kRows, m1 - m), g == 0, ahead, lines);
          }
        }
      }
    }
  }
}

// ---- two levels ----

struct Rows256 {  // 16 rows x 256 k
  int8_t x[kRows][256];
  int32_t part[kRows][8];  // pairs of 16-bit sums (quantize.h)
  float scale[kRows];
};

template <class K>
HWY_INLINE void pack_rows(const Tile<256>* from, int64_t tiles, int64_t rows, Rows256* to) {
  if (rows < kRows) *to = {};
  for (int64_t t = 0; t < rows; t++) {
    const Tile<256>& tile = from[t / 4 * tiles];
    std::memcpy(to->x[t], tile.x[t % 4], 256);
    std::memcpy(to->part[t], K::kSub == 32 ? tile.part32[t % 4] : tile.part16[t % 4],
                K::kPairs * 4);
    to->scale[t] = tile.scale[t % 4];
  }
}

struct Planes {  // 256 k of 16 outputs
  int8_t high[64][64], low[64][64];
  Spread subs;
};

template <class K>
HWY_NOINLINE void fill_planes(const quant::Layout& l, const uint8_t* record, Planes* p) {
  spread<K>(l, record, &p->subs);
  const __m512i offset = _mm512_set1_epi8(K::kOffset), low_bytes = _mm512_set1_epi16(0x00ff),
                seven = _mm512_set1_epi8(0x7f);
  for (int u = 0; u < 8; u++) {
    unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
      const __m512i q =
          _mm512_sub_epi8(load_codes<K::kCode, j.value>(record + u * l.unit, 0).raw, offset);
      const __m512i s = _mm512_load_si512(p->subs.scale[(u * 32 + 4 * j.value) / K::kSub]);
      // The even and the odd bytes of a pair of k, as 16-bit products.
      const __m512i even = _mm512_mullo_epi16(_mm512_srai_epi16(_mm512_slli_epi16(q, 8), 8), s);
      const __m512i odd = _mm512_mullo_epi16(_mm512_srai_epi16(q, 8), s);
      // 0xca: the first operand selects between the others.
      const __m512i low =
          _mm512_ternarylogic_epi32(low_bytes, even, _mm512_slli_epi16(odd, 8), 0xca);
      const __m512i high = _mm512_ternarylogic_epi32(low_bytes, _mm512_srai_epi16(even, 7),
                                                     _mm512_slli_epi16(odd, 1), 0xca);
      _mm512_store_si512(p->low[8 * u + j.value], _mm512_and_si512(low, seven));
      _mm512_store_si512(p->high[8 * u + j.value], high);
    });
  }
}

template <class K>
HWY_NOINLINE void rows_of_planes(const Planes& p, const Rows256& x, float* y, int64_t ldy,
                                 int64_t rows, bool first) {
  alignas(64) Sums high, low;
  zero<0>(), zero<1>();
  for (int i = 0; i < 4; i++) {
    load<4>(x.x[0] + 64 * i, 256);
    load<6>(p.high[16 * i], 64);
    multiply<0, 4, 6, true>();
    load<7>(p.low[16 * i], 64);
    multiply<1, 4, 7, true>();
  }
  store<0>(high), store<1>(low);
  const Lanes d = Lanes::load(p.subs.d), min = Lanes::load(p.subs.min);
  for (int64_t t = 0; t < rows; t++) {
    Lanes acc = first ? Lanes::set(0) : Lanes::load(y + t * ldy);
    const Lanes xscale = Lanes::set(x.scale[t]);
    if (K::kBias) {
      Ints sum = zero_ints();
      MLXCEL_UNROLL
      for (int i = 0; i < K::kPairs; i++) {
        sum.v[0].raw = _mm512_dpwssd_epi32(sum.v[0].raw, _mm512_load_si512(p.subs.pair[i]),
                                           _mm512_set1_epi32(x.part[t][i]));
      }
      acc = fma(min * xscale, to_floats(minus_scaled<1>(zero_ints(), sum)), acc);
    }
    Ints dot;
    dot.v[0].raw = _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high[t]), 7),
                                    _mm512_load_si512(low[t]));
    acc = fma(d * xscale, to_floats(dot), acc);
    acc.store(y + t * ldy);
  }
}

template <class K>
void two_level(const Share& s) {
  constexpr int64_t kPass = kRowTilesTwo * kRows, kMostLines = 16;
  alignas(64) Planes planes[kTogether];
  alignas(64) Rows256 x[kRowTilesTwo];
  const Tiles tiles(64);
  const int64_t groups = s.in / 256, bytes = s.layout.bytes;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPass) {
    const int64_t m1 = std::min(s.last_row, m0 + kPass), count = (m1 - m0 + kRows - 1) / kRows;
    for (int64_t g = 0; g < groups; g++) {
      for (int64_t t = 0; t < count; t++) {
        const int64_t m = m0 + t * kRows;
        pack_rows<K>(static_cast<const Tile<256>*>(s.x) + m / 4 * groups + g, groups,
                     std::min<int64_t>(kRows, m1 - m), x + t);
      }
      const int64_t lines = std::min(bytes / 64 / count + 1, kMostLines);  // fetched at a time
      for (int64_t b0 = s.first; b0 < s.last; b0 += kTogether) {
        const int64_t b1 = std::min(s.last, b0 + kTogether);
        for (int64_t b = b0; b < b1; b++) {
          fill_planes<K>(s.layout, s.block(b) + g * bytes, planes + (b - b0));
        }
        for (int64_t t = 0; t < count; t++) {
          const int64_t m = m0 + t * kRows;
          for (int64_t b = b0; b < b1; b++) {
            const uint8_t* ahead = s.block(b + kTogether) + g * bytes + t * lines * 64;
            for (int64_t l = 0; l < lines; l++) __builtin_prefetch(ahead + 64 * l);
            rows_of_planes<K>(planes[b - b0], x[t], s.out(m, b), s.ldy,
                              std::min<int64_t>(kRows, m1 - m), g == 0);
          }
        }
      }
    }
  }
}

}  // namespace amx
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
