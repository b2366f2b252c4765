// Matmul of two or more rows by smmla, which multiplies 2 rows x 2 outputs x 8 k at once: twice the
// products of sdot.
//
// Codes are unpacked to panels in L1 in the order that smmla takes, once for all rows; the steps of
// the chains are those of one_level-inl.h and two_level-inl.h. Include inside no
// namespace, for NEON alone.
#pragma once

#include "kernels/matmul/versions-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace i8mm {

using PairOfQuads = int8_t[8][16];  // 16 outputs x 8 k: two neighbouring outputs, 8 k of each

template <Code kCode, int kPair>
HWY_INLINE void fill(const uint8_t* unit, PairOfQuads* to) {
  const Codes even = load_quad<kCode, 2 * kPair>(unit, 0),
              odd = load_quad<kCode, 2 * kPair + 1>(unit, 0);
  for (int r = 0; r < 4; r++) {
    const int32x4_t a = vreinterpretq_s32_u8(even.v[r].raw), b = vreinterpretq_s32_u8(odd.v[r].raw);
    vst1q_s8((*to)[2 * r], vreinterpretq_s8_s32(vzip1q_s32(a, b)));
    vst1q_s8((*to)[2 * r + 1], vreinterpretq_s8_s32(vzip2q_s32(a, b)));
  }
}

// Sums of 2 rows x 16 outputs: row 0 x outputs 2 i, 2 i + 1, then row 1 x the same.
struct PairSums {
  int32x4_t a[8];

  HWY_INLINE PairSums() {
    for (int32x4_t& v : a) v = vdupq_n_s32(0);
  }
  HWY_INLINE void add(const PairOfQuads& w, const int8_t* x0, const int8_t* x1) {
    const int8x16_t x = vcombine_s8(vld1_s8(x0), vld1_s8(x1));
    for (int i = 0; i < 8; i++) {
      // Assembly, so that the functions around it need no architecture that NEON code lacks.
      asm(".arch armv8.2-a+dotprod+i8mm+crypto\n\tsmmla %0.4s, %1.16b, %2.16b"
          : "+w"(a[i])
          : "w"(x), "w"(vld1q_s8(w[i])));
    }
  }
  HWY_INLINE Ints row(int which) const {
    Ints s;
    for (int r = 0; r < 4; r++) {
      const int64x2_t low = vreinterpretq_s64_s32(a[2 * r]),
                      high = vreinterpretq_s64_s32(a[2 * r + 1]);
      s.v[r] =
          VI(vreinterpretq_s32_s64(which == 0 ? vzip1q_s64(low, high) : vzip2q_s64(low, high)));
    }
    return s;
  }
};

// A row of a tile of four, or the row before where there is none.
inline int64_t other_row(int64_t m, int64_t last) { return m + 1 < last ? m + 1 : m; }

// ---- one level ----

struct Panel {  // 32 k
  PairOfQuads q[4];
  float scale[16], bias[16];
};

template <class K>
HWY_NOINLINE void rows_of_panels(const Panel* p, int64_t n, const Share& s, int64_t m, int64_t g,
                                 int64_t b) {
  const int64_t groups = s.in / 32, m1 = other_row(m, s.last_row);
  float* const y[2] = {s.out(m, b), s.out(m1, b)};
  const auto* x = static_cast<const Tile<32>*>(s.x) + m / 4 * groups + g;
  const int64_t at[2] = {m % 4, m1 % 4};  // first_row % 4 == 0: a pair lies in one tile
  Lanes acc[2];
  for (int i = 0; i < 2; i++) acc[i] = g == 0 ? Lanes::set(0) : Lanes::load(y[i]);
  for (; n > 0; n--, p++, x++) {
    PairSums sums;
    for (int j = 0; j < 4; j++) sums.add(p->q[j], x->x[at[0]] + 8 * j, x->x[at[1]] + 8 * j);
    const Lanes scale = Lanes::load(p->scale), bias = Lanes::load(p->bias);
    for (int i = 0; i < 2; i++) {
      const Ints ints = minus_offset<K::kOffset>(sums.row(i), x->total[at[i]]);
      if (K::kBias) acc[i] = fma(bias, Lanes::set(x->sum[at[i]]), acc[i]);
      acc[i] = fma(scale * Lanes::set(x->scale[at[i]]), to_floats(ints), acc[i]);
    }
  }
  acc[0].store(y[0]);
  if (m1 != m) acc[1].store(y[1]);
}

template <class K>
HWY_NOINLINE void fill_panels(const Share& s, int64_t b, int64_t g, int64_t n, Panel* p) {
  const int units = s.format->group / quant::kUnit;
  for (const int64_t end = g + n; g < end; g++, p++) {
    const uint8_t* record = s.block(b) + g / units * s.layout.bytes;
    const uint8_t* unit = record + g % units * s.layout.unit;
    unroll<4>([&](auto j) MLXCEL_INLINE_LAMBDA { fill<K::kCode, j.value>(unit, &p->q[j.value]); });
    load_scales(s.format->scale, record + s.layout.scales).store(p->scale);
    if (K::kBias) load_scales(s.format->scale, record + s.layout.biases).store(p->bias);
  }
}

template <class K>
void one_level(const Share& s) {
  alignas(64) Panel panels[kPanels];
  const int64_t groups = s.in / 32;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPassRows) {
    const int64_t m1 = std::min(s.last_row, m0 + kPassRows);
    for (int64_t b = s.first; b < s.last; b++) {
      for (int64_t g = 0; g < groups; g += kPanels) {
        const int64_t n = std::min(kPanels, groups - g);
        i8mm::fill_panels<K>(s, b, g, n, panels);
        for (int64_t m = m0; m < m1; m += 2) rows_of_panels<K>(panels, n, s, m, g, b);
      }
    }
  }
}

// ---- two levels ----

struct PanelTwo {  // 256 k
  PairOfQuads q[32];
  Spread subs;
};

template <class K>
HWY_NOINLINE void rows_of_panel_two(const PanelTwo& p, const Share& s, int64_t m, int64_t g,
                                    int64_t b) {
  constexpr int kEights = K::kSub / 8;
  const int64_t m1 = other_row(m, s.last_row);
  float* const y[2] = {s.out(m, b), s.out(m1, b)};
  const auto& x = static_cast<const Tile<256>*>(s.x)[m / 4 * (s.in / 256) + g];
  const int64_t at[2] = {m % 4, m1 % 4};
  Ints dot[2] = {zero_ints(), zero_ints()};
  for (int sub = 0; sub < 256 / K::kSub; sub++) {
    PairSums sums;
    for (int j = sub * kEights; j < (sub + 1) * kEights; j++) {
      sums.add(p.q[j], x.x[at[0]] + 8 * j, x.x[at[1]] + 8 * j);
    }
    for (int i = 0; i < 2; i++) {
      const Ints part = sums.row(i);
      for (int r = 0; r < 4; r++) {
        dot[i].v[r] =
            VI(vmlaq_s32(dot[i].v[r].raw, part.v[r].raw, output_scale(p.subs.scale[sub], r)));
      }
    }
  }
  const Lanes d = Lanes::load(p.subs.d), min = Lanes::load(p.subs.min);
  for (int i = 0; i < (m1 == m ? 1 : 2); i++) {
    const Lanes xscale = Lanes::set(x.scale[at[i]]);
    const int16_t* part = K::kSub == 32 ? x.part32[at[i]] : x.part16[at[i]];
    Lanes acc = g == 0 ? Lanes::set(0) : Lanes::load(y[i]);
    Ints sum = zero_ints();
    for (int q = 0; q < K::kPairs; q++) add_pair(&sum, p.subs.pair[q], part + 2 * q);
    const Ints ints = minus_scaled<K::kOffset>(dot[i], sum);
    if (K::kBias) acc = fma(min * xscale, to_floats(minus_scaled<1>(zero_ints(), sum)), acc);
    fma(d * xscale, to_floats(ints), acc).store(y[i]);
  }
}

template <class K>
HWY_NOINLINE void fill_panel_two(const quant::Layout& l, const uint8_t* record, PanelTwo* p) {
  for (int u = 0; u < 8; u++) {
    unroll<4>([&](auto j) MLXCEL_INLINE_LAMBDA {
      fill<K::kCode, j.value>(record + u * l.unit, &p->q[4 * u + j.value]);
    });
  }
  spread<K>(l, record, &p->subs);
}

template <class K>
void two_level(const Share& s) {
  alignas(64) PanelTwo panel;
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPassRows) {
    const int64_t m1 = std::min(s.last_row, m0 + kPassRows);
    for (int64_t b = s.first; b < s.last; b++) {
      for (int64_t g = 0; g < s.in / 256; g++) {
        fill_panel_two<K>(s.layout, s.block(b) + g * s.layout.bytes, &panel);
        for (int64_t m = m0; m < m1; m += 2) rows_of_panel_two<K>(panel, s, m, g, b);
      }
    }
  }
}

}  // namespace i8mm
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
