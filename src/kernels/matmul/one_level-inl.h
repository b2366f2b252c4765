// Matmul of codes with one level of scales, in groups of 32 activations.
//
// Few rows: codes are unpacked in registers and each weight byte is read once. A core reads several
// streams faster than one, so with one or two rows it works on blocks that lie apart. Many rows:
// codes are unpacked to panels in L1, once for all rows. Both run the same steps (matmul.h), so
// they give equal bits.
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

// One step of the chains of kRows rows x 16 outputs. load.quad<j>() gives codes; row t is row t % 4
// of tile x[t / 4 * tiles].
template <class K, int kRows, class Load>
HWY_INLINE void step(const Load& load, Lanes scale, Lanes bias, const Tile<32>* x, int64_t tiles,
                     Lanes* y) {
  const LaneScale one = LaneScale::one();
  using D = typename K::Dot;
  D dot[kRows];
  unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
    const typename D::Factors q(load.template quad<j.value>());
    MLXCEL_UNROLL
    for (int t = 0; t < kRows; t++) {
      dot[t].template add<j.value>(q, x[t / 4 * tiles].x[t % 4] + 4 * j, one);
    }
  });
  MLXCEL_UNROLL
  for (int t = 0; t < kRows; t++) {
    const Tile<32>& tile = x[t / 4 * tiles];
    const Ints ints = minus_offset<K::kOffset + D::kAdded>(dot[t].ints(), tile.total[t % 4]);
    if (K::kBias) y[t] = fma(bias, Lanes::set(tile.sum[t % 4]), y[t]);
    y[t] = fma(scale * Lanes::set(tile.scale[t % 4]), to_floats(ints), y[t]);
  }
}

// ---- few rows ----

template <Code kCode>
struct PackedCodes {
  const uint8_t* unit;
  template <int kJ>
  HWY_INLINE Codes quad() const {
    return load_quad<kCode, kJ>(unit);
  }
};

// kRows rows x blocks b, b + stride, ... (kStreams of them).
template <class K, int kRows, int kStreams>
HWY_NOINLINE void direct(const Share& s, int64_t b, int64_t stride, int64_t m) {
  constexpr int kAhead = kStreams > 1 ? 1280 : 5120;  // bytes
  constexpr int kLines = CodeOf<K::kCode>::kBits + 1;
  const int64_t records = s.in / s.format->group, apart = stride * s.block_bytes();
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
      MLXCEL_UNROLL
      for (int i = 0; i < kStreams; i++) {
        const uint8_t* w = record + i * apart;
        const uint8_t* unit = w + u * s.layout.unit;
        for (int l = 0; l < kLines; l++) __builtin_prefetch(unit + kAhead + 64 * l);
        const Lanes scale = load_scales(scale_type, w + s.layout.scales);
        Lanes bias = scale;
        if (K::kBias) bias = load_scales(scale_type, w + s.layout.biases);
        step<K, kRows>(PackedCodes<K::kCode>{unit}, scale, bias, x, tiles, y[i]);
      }
    }
  }
  for (int i = 0; i < kStreams; i++) {
    for (int t = 0; t < kRows; t++) y[i][t].store(s.out(m + t, b + i * stride));
  }
}

template <class K, int kRows>
void direct_streams(const Share& s) {
  const int64_t part = (s.last - s.first) / 3;
  for (int64_t b = s.first; b < s.first + part; b++) direct<K, kRows, 3>(s, b, part, s.first_row);
  for (int64_t b = s.first + 3 * part; b < s.last; b++) direct<K, kRows, 1>(s, b, 0, s.first_row);
}

template <class K>
void direct_tall(const Share& s, int64_t b) {
  for (int64_t m = s.first_row, take; m < s.last_row; m += take) {
    const int64_t rows = s.last_row - m;
    take = rows == 5 ? 5 : std::min<int64_t>(4, rows);
    if (take == 5) direct<K, 5, 1>(s, b, 0, m);
    if (take == 4) direct<K, 4, 1>(s, b, 0, m);
    if (take == 3) direct<K, 3, 1>(s, b, 0, m);
    if (take == 2) direct<K, 2, 1>(s, b, 0, m);
    if (take == 1) direct<K, 1, 1>(s, b, 0, m);
  }
}

template <class K>
void direct_rows(const Share& s) {
  const int64_t rows = s.last_row - s.first_row;
  if (rows == 1) return direct_streams<K, 1>(s);
  if (rows == 2) return direct_streams<K, 2>(s);
  for (int64_t b = s.first; b < s.last; b++) direct_tall<K>(s, b);
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
  HWY_INLINE Codes quad() const {
    Codes c;
    for (int r = 0; r < kRegs; r++) c.v[r] = hn::Load(B(), panel->q[kJ] + r * (64 / kRegs));
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
