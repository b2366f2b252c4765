// Matmul of codes with one level of scales, in groups of 32 activations.
//
// Few rows: codes are unpacked in registers and each weight byte is read once. A core reads several
// streams faster than one, so it works on blocks that lie apart. Many rows: codes are unpacked to
// panels in L1, once for all rows. Both run the same steps (matmul.h), so they give equal bits.
// Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_ONE_LEVEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_ONE_LEVEL_INL
#undef MLXCEL_ONE_LEVEL_INL
#else
#define MLXCEL_ONE_LEVEL_INL
#endif

#include <algorithm>

#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/quantize.h"
#include "kernels/matmul/share.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

// What the kernels are compiled for: how codes are stored, whether a bias is, the offset, and the
// instruction.
template <Code code, bool bias, int offset, DotBy by = DotBy::kWidest>
struct OneLevel {
  static constexpr Code kCode = code;
  static constexpr bool kBias = bias;
  static constexpr int kMax = CodeOf<code>::kMax, kOffset = offset + CodeOf<code>::kShift;
  static constexpr bool kSigned = CodeOf<code>::kSigned;
  using Dot = typename DotOf<kMax, kSigned, by>::Type;
};

// Rows of one panel step, so that accumulators stay in registers.
inline constexpr int kPanelRows = HWY_ARCH_X86 && HWY_TARGET != HWY_AVX2 ? 8 : 4;

// One step of the chains of kRows rows x 16 outputs. load.quad<j>(side) gives codes; row t is row
// t % 4 of tile x[t / 4 * tiles].
template <class K, int kRows, class Load>
HWY_INLINE void step(const Load& load, Lanes scale, Lanes bias, const Tile<32>* x, int64_t tiles,
                     Lanes* y) {
  const LaneScale one = LaneScale::one();
  using D = typename K::Dot;
  using I32 = hn::Repartition<int32_t, F>;
  unroll<kSides>([&](auto side) MLXCEL_INLINE_LAMBDA {
    // Each side reads x anew: GCC 12 would keep all of it in memory from one side to the next.
    asm("" : "+r"(x));
    D dot[kRows];
    unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
      const typename D::Factors q(load.template quad<j.value>(side.value));
      MLXCEL_UNROLL
      for (int t = 0; t < kRows; t++) {
        dot[t].template add<j.value>(q, x[t / 4 * tiles].x[t % 4] + 4 * j, one);
      }
    });
    MLXCEL_UNROLL
    for (int t = 0; t < kRows; t++) {
      const Tile<32>& tile = x[t / 4 * tiles];
      const int32_t offset = (K::kOffset + D::kAdded) * tile.total[t % 4];
      for (int r = 0; r < kSide; r++) {
        VF& v = y[t].v[side.value * kSide + r];
        VI ints = dot[t].ints(r);
        if (K::kOffset + D::kAdded != 0) ints = hn::Sub(ints, hn::Set(I32(), offset));
        const VF s = scale.v[side.value * kSide + r], b = bias.v[side.value * kSide + r];
        if (K::kBias) v = hn::MulAdd(b, hn::Set(F(), tile.sum[t % 4]), v);
        v = hn::MulAdd(hn::Mul(s, hn::Set(F(), tile.scale[t % 4])), hn::ConvertTo(F(), ints), v);
      }
    }
  });
}

// ---- few rows ----

template <Code kCode>
struct PackedCodes {
  const uint8_t* unit;
  template <int kJ>
  HWY_INLINE Codes quad(int side) const {
    return load_quad<kCode, kJ>(unit, side);
  }
};

inline constexpr int kStreams = 3;

// kRows rows x blocks b, b + stride, ..., `streams` of them, which may be 1 or kStreams.
template <class K, int kRows>
HWY_NOINLINE void direct(const Share& s, int64_t b, int64_t stride, int streams, int64_t m) {
  constexpr int kLines = CodeOf<K::kCode>::kBits + 1;
  const int64_t records = s.in / s.format->group, apart = stride * s.block_bytes();
  const int64_t ahead = streams > 1 ? 1280 : 5120;  // bytes
  const int units = s.format->group / quant::kUnit;
  const DType scale_type = s.format->scale;
  const auto* x = static_cast<const Tile<32>*>(s.x) + m / 4 * (s.in / 32);
  const int64_t tiles = s.in / 32;
  const uint8_t* record = s.block(b);
  Lanes y[kStreams][kRows];
  for (auto& stream : y) {
    for (Lanes& v : stream) v = Lanes::set(0);
  }
  for (int64_t r = 0; r < records; r++, record += s.layout.bytes) {
    for (int u = 0; u < units; u++, x++) {
      const uint8_t* w = record;
      for (int i = 0; i < streams; i++, w += apart) {
        const uint8_t* unit = w + u * s.layout.unit;
        for (int l = 0; l < kLines; l++) __builtin_prefetch(unit + ahead + 64 * l);
        const Lanes scale = load_scales(scale_type, w + s.layout.scales);
        Lanes bias = scale;
        if (K::kBias) bias = load_scales(scale_type, w + s.layout.biases);
        step<K, kRows>(PackedCodes<K::kCode>{unit}, scale, bias, x, tiles, y[i]);
      }
    }
  }
  for (int i = 0; i < streams; i++) {
    for (int t = 0; t < kRows; t++) y[i][t].store(s.out(m + t, b + i * stride));
  }
}

template <class K>
void direct_tall(const Share& s, int64_t b, int64_t stride, int streams) {
  for (int64_t m = s.first_row, take; m < s.last_row; m += take) {
    const int64_t rows = s.last_row - m;
    take = rows == 5 ? 5 : std::min<int64_t>(4, rows);
    if constexpr (kRegs == 1) {  // AVX-512's 32 registers hold the chains and sums of more
      if (rows >= 8) take = 8;
      if (take == 8) direct<K, 8>(s, b, stride, streams, m);
    }
    if (take == 5) direct<K, 5>(s, b, stride, streams, m);
    if (take == 4) direct<K, 4>(s, b, stride, streams, m);
    if (take == 3) direct<K, 3>(s, b, stride, streams, m);
    if (take == 2) direct<K, 2>(s, b, stride, streams, m);
    if (take == 1) direct<K, 1>(s, b, stride, streams, m);
  }
}

template <class K>
void direct_rows(const Share& s) {
  const int64_t part = (s.last - s.first) / kStreams;
  for (int64_t b = s.first; b < s.first + part; b++) direct_tall<K>(s, b, part, kStreams);
  for (int64_t b = s.first + kStreams * part; b < s.last; b++) direct_tall<K>(s, b, 0, 1);
}

// ---- many rows ----

struct Panel {  // 32 k of 16 outputs
  uint8_t q[8][64];
  float scale[16], bias[16];
};
inline constexpr int64_t kPanels = 24;  // 15 KB of L1

struct PanelCodes {
  const Panel* panel;
  template <int kJ>
  HWY_INLINE Codes quad(int side) const {
    Codes c;
    for (int r = 0; r < kSide; r++) {
      c.v[r] = hn::Load(B(), panel->q[kJ] + (side * kSide + r) * (64 / kRegs));
    }
    return c;
  }
};

// Panels of groups [g, g + n).
template <class K>
HWY_NOINLINE void fill_panels(const Share& s, int64_t b, int64_t g, int64_t n, Panel* p) {
  const int units = s.format->group / quant::kUnit;
  for (const int64_t end = g + n; g < end; g++, p++) {
    const uint8_t* record = s.block(b) + g / units * s.layout.bytes;
    const uint8_t* unit = record + g % units * s.layout.unit;
    unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
      for (int r = 0; r < kRegs; r++) {
        hn::Store(load_codes<K::kCode, j.value>(unit, r), B(), p->q[j] + r * (64 / kRegs));
      }
    });
    load_scales(s.format->scale, record + s.layout.scales).store(p->scale);
    if (K::kBias) load_scales(s.format->scale, record + s.layout.biases).store(p->bias);
  }
}

// kRows rows from m x n panels; y goes on where the panels before left it. `ahead` is where the
// next panels' codes lie.
template <class K, int kRows>
HWY_NOINLINE void panel_rows(const Panel* p, int64_t n, const Tile<32>* x, int64_t tiles, float* y,
                             int64_t ldy, bool first, const uint8_t* ahead) {
  Lanes acc[kRows];
  for (int t = 0; t < kRows; t++) acc[t] = first ? Lanes::set(0) : Lanes::load(y + t * ldy);
  for (int64_t g = 0; g < n; g++, p++, x++, ahead += 128) {
    __builtin_prefetch(ahead), __builtin_prefetch(ahead + 64);
    step<K, kRows>(PanelCodes{p}, Lanes::load(p->scale), Lanes::load(p->bias), x, tiles, acc);
  }
  for (int t = 0; t < kRows; t++) acc[t].store(y + t * ldy);
}

// Rows of a step that starts at a tile, `left` rows before the end.
inline int panel_take(int64_t left) {
  return left >= kPanelRows ? kPanelRows : static_cast<int>(std::min<int64_t>(4, left));
}

// panel_rows of `rows` = panel_take() rows.
template <class K, int kRows = kPanelRows, class... Args>
void panel_some_rows(int rows, Args... args) {
  if (rows == kRows) return panel_rows<K, kRows>(args...);
  if constexpr (kRows > 1) panel_some_rows<K, kRows == 8 ? 4 : kRows - 1>(rows, args...);
}

template <class K>
void panel(const Share& s) {
  alignas(64) Panel panels[kPanels];
  const int64_t groups = s.in / 32, parts = (groups + kPanels - 1) / kPanels;
  const int64_t part = (groups + parts - 1) / parts, group_bytes = s.block_bytes() / groups;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPassRows) {
    const int64_t m1 = std::min(s.last_row, m0 + kPassRows);
    for (int64_t b = s.first; b < s.last; b++) {
      for (int64_t g = 0; g < groups; g += part) {
        const int64_t n = std::min(part, groups - g);
        fill_panels<K>(s, b, g, n, panels);
        const uint8_t* next = s.block(b) + (g + n) * group_bytes;
        for (int64_t m = m0, take; m < m1; m += take) {
          take = panel_take(m1 - m);
          const auto* x = static_cast<const Tile<32>*>(s.x) + m / 4 * groups + g;
          const uint8_t* ahead = next + std::min<int64_t>((m - m0) / kPanelRows * 128, 320) * n;
          panel_some_rows<K>(static_cast<int>(take), panels, n, x, groups, s.out(m, b), s.ldy,
                             g == 0, ahead);
        }
      }
    }
  }
}

template <class K>
void one_level(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, [](const Share& s) {
    const int64_t rows = s.last_row - s.first_row;
    if (rows >= kPanelFrom) return panel<K>(s);
    direct_rows<K>(s);
  });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
