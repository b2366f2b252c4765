// Packed codes (quant/layout.h) -> the numbers that are multiplied, one quad of 16 outputs at a
// time. Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_CODES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_CODES_INL
#undef MLXCEL_CODES_INL
#else
#define MLXCEL_CODES_INL
#endif

#include "kernels/matmul/dot-inl.h"
#include "kernels/quant/layout.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

using quant::Code;

// Numbers are stored with `kShift` added, so that they are unsigned where 16-bit sums of them fit.
template <Code kCode>
struct CodeOf;
template <>
struct CodeOf<Code::kU2> {
  static constexpr int kBits = 2, kMax = 3, kShift = 0;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kU3> {
  static constexpr int kBits = 3, kMax = 7, kShift = 0;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kU4> {
  static constexpr int kBits = 4, kMax = 15, kShift = 0;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kU5> {
  static constexpr int kBits = 5, kMax = 31, kShift = 0;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kU6> {
  static constexpr int kBits = 6, kMax = 63, kShift = 0;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kU8> {
  static constexpr int kBits = 8, kMax = 128, kShift = -128;
  static constexpr bool kSigned = true;
};
template <>
struct CodeOf<Code::kE2M1> {
  static constexpr int kBits = 4, kMax = 28, kShift = 16;
  static constexpr bool kSigned = false;
};
template <>
struct CodeOf<Code::kE4M3> {
  static constexpr int kBits = 8;
};
template <>
struct CodeOf<Code::kNL4> {
  static constexpr int kBits = 4, kMax = 127, kShift = 0;
  static constexpr bool kSigned = true;
};

using U16 = hn::Repartition<uint16_t, B>;

// Bits [kFrom, kFrom + kCount) of each byte, moved to bit kTo.
template <int kFrom, int kCount, int kTo>
HWY_INLINE VB bits_of(VB v) {
  const auto mask = hn::Set(B(), static_cast<uint8_t>(((1 << kCount) - 1) << kTo));
  if constexpr (kFrom > kTo)
    v = hn::BitCast(B(), hn::ShiftRight<kFrom - kTo>(hn::BitCast(U16(), v)));
  if constexpr (kFrom < kTo)
    v = hn::BitCast(B(), hn::ShiftLeft<kTo - kFrom>(hn::BitCast(U16(), v)));
  return hn::And(v, mask);
}

template <Code kCode>
HWY_INLINE VB table() {
  alignas(16) uint8_t t[16];
  for (int i = 0; i < 16; i++) {
    t[i] = static_cast<uint8_t>(quant::number_of(kCode, i) + CodeOf<kCode>::kShift);
  }
  return hn::LoadDup128(B(), t);
}

// Register r of quad kJ (0 .. 7) of a unit.
template <Code kCode, int kJ>
HWY_INLINE VB load_codes(const uint8_t* unit, int r) {
  constexpr int kBits = CodeOf<kCode>::kBits;
  const auto at = [&](int vector) MLXCEL_INLINE_LAMBDA {
    return hn::LoadU(B(), unit + 64 * vector + r * (64 / kRegs));
  };
  if constexpr (kBits == 8) return at(kJ);
  if constexpr (kBits == 2) return bits_of<kJ / 2 * 2, 2, 0>(at(kJ % 2));
  if constexpr (kBits == 3) {
    return hn::Or(bits_of<kJ / 2 * 2, 2, 0>(at(kJ % 2)), bits_of<kJ, 1, 2>(at(2)));
  }
  const VB low = bits_of<kJ / 4 * 4, 4, 0>(at(kJ % 4));
  if constexpr (kCode == Code::kE2M1 || kCode == Code::kNL4) {
    return hn::TableLookupBytes(table<kCode>(), low);
  }
  if constexpr (kBits == 5) return hn::Or(low, bits_of<kJ, 1, 4>(at(4)));
  if constexpr (kBits == 6) return hn::Or(low, bits_of<kJ / 2 * 2, 2, 4>(at(4 + kJ % 2)));
  return low;
}

template <Code kCode, int kJ>
HWY_INLINE Codes load_quad(const uint8_t* unit, int side) {
  Codes c;
  for (int r = 0; r < kSide; r++) {
    c.v[r] = load_codes<kCode, kJ>(unit, side * kSide + r);
    MLXCEL_PIN(c.v[r].raw);
  }
  return c;
}

// Sixteen scales as floats.
template <class From>
HWY_INLINE Lanes promote(const void* p) {
  const hn::Rebind<From, F> d;
  Lanes s;
  for (int i = 0; i < kParts; i++) {
    s.v[i] = hn::PromoteTo(F(), hn::LoadU(d, static_cast<const From*>(p) + i * kWidth));
  }
  return s;
}
HWY_NOINLINE inline void load_rare_scales(DType type, const void* p, float* out) {
  for (int r = 0; r < 16; r++) out[r] = quant::scale_at(type, p, r);
}
HWY_INLINE Lanes load_scales(DType type, const void* p) {
  if (HWY_LIKELY(type == DType::kF16)) return promote<hwy::float16_t>(p);
  if (type == DType::kBF16) return promote<hwy::bfloat16_t>(p);
  if (type == DType::kF32) return Lanes::load(static_cast<const float*>(p));
  float s[16];
  load_rare_scales(type, p, s);
  return Lanes::load(s);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
