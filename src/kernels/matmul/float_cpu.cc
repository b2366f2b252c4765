// Matmul with float activations: one chain of fused multiply-adds per output, in k order.
//
// Float weights of few rows are read in place. Everything else goes through panels in L1: 256 k of
// 16 outputs as floats, made once for all rows. Quantized weights become floats as
// quant::unpack_row defines.
#include <algorithm>

#include "kernels/matmul/kernels.h"
#include "kernels/matmul/share.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/float_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/codes-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {

inline constexpr int64_t kPart = 256;  // k per panel: 16 KB
// Rows of a step: two registers of outputs x 6 rows hide the latency on AVX2 within 16 registers.
inline constexpr int kFloatRows = HWY_TARGET == HWY_AVX2 ? 6 : HWY_ARCH_X86 ? 12 : 4;

// ---- quantized weights -> panels ----

// Numbers of byte kI of each output's quad, as integers without the code's shift.
template <Code kCode, int kI>
HWY_INLINE Lanes numbers(const VB* c, int offset) {
  const hn::Repartition<int32_t, F> di;
  const hn::Repartition<uint32_t, F> du;
  const auto shift = hn::Set(di, CodeOf<kCode>::kShift + offset);
  Lanes w;
  for (int i = 0; i < kParts; i++) {
    VI n;
    if constexpr (CodeOf<kCode>::kSigned) {
      n = hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * kI>(hn::BitCast(di, c[i])));
    } else {
      const auto u = hn::ShiftRight<8 * kI>(hn::BitCast(du, c[i]));
      n = hn::BitCast(di, hn::And(u, hn::Set(du, 255)));
    }
    w.v[i] = hn::ConvertTo(F(), hn::Sub(n, shift));
  }
  return w;
}

// The same of codes that are floats. A normal one's exponent and fraction are moved to their places
// in a longer float. A subnormal one becomes the fraction of a power of two, which is then taken
// away.
template <int kI>
HWY_INLINE Lanes e4m3_values(const VB* c) {
  const hn::Repartition<uint32_t, F> du;
  const auto power = [&](uint32_t exponent) HWY_ATTR { return hn::Set(du, exponent << 23); };
  Lanes w;
  for (int i = 0; i < kParts; i++) {
    const auto u = hn::ShiftRight<8 * kI>(hn::BitCast(du, c[i]));
    const auto sign = hn::AndNot(hn::ShiftLeft<24>(u), hn::Set(du, 0x80000000u));  // kept inverted
    const auto magnitude = hn::And(u, hn::Set(du, 127)), bits = hn::ShiftLeft<20>(magnitude);
    const auto normal = hn::BitCast(F(), hn::Add(bits, power(121)));
    const auto small =
        hn::Sub(hn::BitCast(F(), hn::Add(bits, power(122))), hn::BitCast(F(), power(122)));
    const auto is_small = hn::RebindMask(F(), hn::Lt(magnitude, hn::Set(du, 8)));
    const auto is_nan = hn::RebindMask(F(), hn::Eq(magnitude, hn::Set(du, 127)));
    const auto nan = hn::BitCast(F(), hn::Set(du, 0x7fc00000u));
    const auto value = hn::IfThenElse(is_nan, nan, hn::IfThenElse(is_small, small, normal));
    w.v[i] = hn::Or(value, hn::BitCast(F(), sign));
  }
  return w;
}

// One unit of 32 k; scale and bias of its two halves.
template <Code kCode>
void unit_to_floats(const quant::Format& f, const uint8_t* unit, const Lanes* scale,
                    const Lanes* bias, float* w) {
  unroll<8>([&](auto j) MLXCEL_INLINE_LAMBDA {
    VB c[kRegs];
    for (int r = 0; r < kRegs; r++) c[r] = load_codes<kCode, j.value>(unit, r);
    unroll<4>([&](auto i) MLXCEL_INLINE_LAMBDA {
      Lanes q;
      if constexpr (kCode == Code::kE4M3) {
        q = e4m3_values<i.value>(c);
      } else {
        q = numbers<kCode, i.value>(c, f.offset);
      }
      const Lanes v = f.bias ? fma(scale[j / 4], q, bias[j / 4]) : scale[j / 4] * q;
      v.store(w + (4 * j + i) * 16);
    });
  });
}

HWY_INLINE Lanes sub_scales(const quant::Format& f, const uint8_t* subs, int sub, bool min) {
  float s[16];
  for (int r = 0; r < 16; r++) {
    const quant::SubScale both = quant::sub_scale_at(f.subs, subs, r, sub);
    s[r] = static_cast<float>(min ? -both.min : both.scale);
  }
  return Lanes::load(s);
}

// k [k0, k0 + n) of block b; both are multiples of 32.
template <Code kCode>
HWY_NOINLINE void codes_to_floats(const Share& s, int64_t b, int64_t k0, int64_t n, float* w) {
  const quant::Format& f = *s.format;
  for (int64_t k = k0; k < k0 + n; k += 32, w += 32 * 16) {
    const uint8_t* record = s.block(b) + k / f.group * s.layout.bytes;
    const int64_t in_record = k % f.group;
    Lanes scale[2], bias[2];
    if (f.shared) {
      scale[0] = scale[1] = Lanes::set(quant::scale_at(f.scale, record + s.layout.scales, 0));
    } else {
      scale[0] = scale[1] = load_scales(f.scale, record + s.layout.scales);
    }
    if (quant::scales_per_record(f) == 2) {
      scale[1] = load_scales(f.scale, record + s.layout.scales + 16 * quant::scale_bytes(f.scale));
    }
    bias[0] = bias[1] = f.bias ? load_scales(f.scale, record + s.layout.biases) : scale[0];
    for (int half = 0; half < 2 && quant::two_level(f); half++) {
      const int sub = static_cast<int>((in_record + 16 * half) / f.sub);
      scale[half] = scale[half] * sub_scales(f, record + s.layout.subs, sub, false);
      if (f.bias) bias[half] = bias[half] * sub_scales(f, record + s.layout.subs, sub, true);
    }
    unit_to_floats<kCode>(f, record + in_record / 32 * s.layout.unit, scale, bias, w);
  }
}

template <class From>
void floats_to_floats(const Share& s, int64_t b, int64_t k0, int64_t n, float* w) {
  const auto* from = reinterpret_cast<const From*>(s.block(b)) + k0 * 16;
  for (int64_t k = 0; k < n; k++) promote<From>(from + k * 16).store(w + k * 16);
}

using Fill = void (*)(const Share& s, int64_t b, int64_t k0, int64_t n, float* w);

Fill fill_of(const quant::Format& f) {
  switch (f.code) {
    case Code::kU2:
      return codes_to_floats<Code::kU2>;
    case Code::kU3:
      return codes_to_floats<Code::kU3>;
    case Code::kU4:
      return codes_to_floats<Code::kU4>;
    case Code::kU5:
      return codes_to_floats<Code::kU5>;
    case Code::kU6:
      return codes_to_floats<Code::kU6>;
    case Code::kU8:
      return codes_to_floats<Code::kU8>;
    case Code::kE2M1:
      return codes_to_floats<Code::kE2M1>;
    case Code::kE4M3:
      return codes_to_floats<Code::kE4M3>;
    case Code::kNL4:
      return codes_to_floats<Code::kNL4>;
    case Code::kFloat:
      break;
  }
  return f.dtype == DType::kBF16 ? floats_to_floats<hwy::bfloat16_t>
                                 : floats_to_floats<hwy::float16_t>;
}

// ---- chains ----

// kRows rows from x (in floats apart) x n k of 16 outputs; y goes on where it was left.
template <int kRows>
HWY_NOINLINE void panel_rows(const float* w, int64_t n, const float* x, int64_t in, float* y,
                             int64_t ldy, bool first) {
  Lanes acc[kRows];
  for (int t = 0; t < kRows; t++) acc[t] = first ? Lanes::set(0) : Lanes::load(y + t * ldy);
  for (int64_t k = 0; k < n; k++, x++) {
    const Lanes v = Lanes::load(w + k * 16);
    unroll<kRows>([&](auto t)
                      MLXCEL_INLINE_LAMBDA { acc[t] = fma(v, Lanes::set(x[t * in]), acc[t]); });
  }
  for (int t = 0; t < kRows; t++) acc[t].store(y + t * ldy);
}

void panel(const Share& s) {
  alignas(64) float buffer[kPart * 16];
  const bool in_place = s.format->dtype == DType::kF32;
  const Fill fill = fill_of(*s.format);
  for (int64_t m0 = s.first_row; m0 < s.last_row; m0 += kPassRows) {
    const int64_t m1 = std::min(s.last_row, m0 + kPassRows);
    for (int64_t b = s.first; b < s.last; b++) {
      for (int64_t k = 0; k < s.in; k += kPart) {
        const int64_t n = std::min(kPart, s.in - k);
        const float* w = buffer;
        if (in_place) {
          w = reinterpret_cast<const float*>(s.block(b)) + k * 16;
        } else {
          fill(s, b, k, n, buffer);
        }
        for (int64_t m = m0, take; m < m1; m += take) {
          const float* x = static_cast<const float*>(s.x) + m * s.in + k;
          float* y = s.out(m, b);
          const int64_t rows = m1 - m;
          take = rows >= kFloatRows ? kFloatRows : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
          if (take == kFloatRows) {
            panel_rows<kFloatRows>(w, n, x, s.in, y, s.ldy, k == 0);
          } else if (take == 4) {
            panel_rows<4>(w, n, x, s.in, y, s.ldy, k == 0);
          } else if (take == 2) {
            panel_rows<2>(w, n, x, s.in, y, s.ldy, k == 0);
          } else {
            panel_rows<1>(w, n, x, s.in, y, s.ldy, k == 0);
          }
        }
      }
    }
  }
}

HWY_INLINE Lanes load_weights(const float* p) { return Lanes::load(p); }
template <class Half>
HWY_INLINE Lanes load_weights(const Half* p) {
  return promote<Half>(p);
}

// Float weights of few rows: kStreams blocks that lie `stride` apart.
template <class From, int kRows, int kStreams>
HWY_NOINLINE void direct(const Share& s, int64_t b, int64_t stride, int64_t m) {
  const auto* w = reinterpret_cast<const From*>(s.block(b));
  const auto* x = static_cast<const float*>(s.x) + m * s.in;
  const int64_t apart = stride * s.in * 16;
  Lanes acc[kStreams][kRows];
  for (auto& stream : acc) {
    for (Lanes& v : stream) v = Lanes::set(0);
  }
  for (int64_t k = 0; k < s.in; k++, w += 16, x++) {
    unroll<kStreams>([&](auto i) MLXCEL_INLINE_LAMBDA {
      __builtin_prefetch(w + i * apart + 2048 / sizeof(From));
      const Lanes v = load_weights(w + i * apart);
      unroll<kRows>([&](auto t) MLXCEL_INLINE_LAMBDA {
        acc[i][t] = fma(v, Lanes::set(x[t * s.in]), acc[i][t]);
      });
    });
  }
  for (int i = 0; i < kStreams; i++) {
    for (int t = 0; t < kRows; t++) acc[i][t].store(s.out(m + t, b + i * stride));
  }
}

template <class From, int kRows>
void direct_streams(const Share& s, int64_t m) {
  const int64_t part = (s.last - s.first) / 4;
  for (int64_t b = s.first; b < s.first + part; b++) direct<From, kRows, 4>(s, b, part, m);
  for (int64_t b = s.first + 4 * part; b < s.last; b++) direct<From, kRows, 1>(s, b, 0, m);
}

template <class From>
void direct_rows(const Share& s) {
  const int64_t rows = s.last_row - s.first_row;
  if (rows == 1) return direct_streams<From, 1>(s, s.first_row);
  for (int64_t b = s.first; b < s.last; b++) {
    for (int64_t m = s.first_row, take; m < s.last_row; m += take) {
      take = s.last_row - m >= 4 ? 4 : s.last_row - m >= 2 ? 2 : 1;
      if (take == 4) direct<From, 4, 1>(s, b, 0, m);
      if (take == 2) direct<From, 2, 1>(s, b, 0, m);
      if (take == 1) direct<From, 1, 1>(s, b, 0, m);
    }
  }
}

}  // namespace

void matmul_float(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, [](const Share& s) {
    if (s.format->code != Code::kFloat || s.last_row - s.first_row >= kPanelFrom) return panel(s);
    switch (s.format->dtype) {
      case DType::kF16:
        return direct_rows<hwy::float16_t>(s);
      case DType::kBF16:
        return direct_rows<hwy::bfloat16_t>(s);
      default:
        return direct_rows<float>(s);
    }
  });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {
void matmul_float(const MatmulArgs& a) { MLXCEL_DISPATCH(matmul_float)(a); }
}  // namespace mlxcel
#endif
