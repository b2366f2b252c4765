// Integer dot products of 16 outputs x one activation row, on every instruction set.
//
// Codes are 64 bytes: byte 4 r + i is output r, k = 4 j + i of quad j. What differs between
// instruction sets is only how the integers are added, and no sum can overflow, so all agree.
// Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_DOT_INL
#undef MLXCEL_DOT_INL
#else
#define MLXCEL_DOT_INL
#endif

#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/lanes-inl.h"

// Without pinning, GCC 12 forms all products of a group first and spills them.
#undef MLXCEL_PIN
#if HWY_ARCH_X86
#if HWY_TARGET == HWY_AVX2
#define MLXCEL_PIN(v) asm volatile("" : "+x"(v))
#else
#define MLXCEL_PIN(v) asm volatile("" : "+v"(v))
#endif
#else
#define MLXCEL_PIN(v) asm volatile("" : "+w"(v))
#endif

// A loop of few constant rounds becomes straight code, its arrays registers. Compiles in half the
// time of a lambda for each round.
#undef MLXCEL_UNROLL
#if defined(__clang__)
#define MLXCEL_UNROLL _Pragma("unroll")
#else
#define MLXCEL_UNROLL _Pragma("GCC unroll 16")
#endif

#undef MLXCEL_INLINE_LAMBDA
#define MLXCEL_INLINE_LAMBDA __attribute__((always_inline))

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

// f(0), f(1), ..., the number as a type.
template <class Body, int... i>
HWY_INLINE void unroll_each(Body body, std::integer_sequence<int, i...>) {
  (body(std::integral_constant<int, i>()), ...);
}
template <int kCount, class Body>
HWY_INLINE void unroll(Body body) {
  unroll_each(body, std::make_integer_sequence<int, kCount>());
}

using B = hn::CappedTag<uint8_t, 64>;
using VB = hn::Vec<B>;
inline constexpr int kRegs = 64 / static_cast<int>(hn::MaxLanes(B()));

struct Codes {  // 16 outputs x 4 k
  VB v[kRegs];
  HWY_INLINE Codes() {}  // written out: GCC gives an implicit one no target attributes
};

using VI = hn::Vec<hn::Repartition<int32_t, F>>;
struct Ints {  // 16 outputs
  VI v[kParts];
  HWY_INLINE Ints() {}
};

// Which instruction makes the dots of one level: the best of the target itself, or one that the CPU
// has beside it and that is asked for by name (named_dot_cpu.cc).
enum class DotBy { kWidest, kNamed };

// How often the numbers of a code are added before a 16-bit lane could overflow. A lane takes
// `products` of |number| <= kMax with |x| <= 127 per quad.
template <int kMax, int kProducts>
inline constexpr int kQuadsThatFit = [] {
  const int fit = 32767 / (kProducts * 127 * kMax);
  return fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : fit;
}();

#if HWY_ARCH_X86

#if HWY_TARGET == HWY_AVX2
using Raw = __m256i;
HWY_INLINE Raw madd_pairs(Raw u8, Raw s8) { return _mm256_maddubs_epi16(u8, s8); }
HWY_INLINE Raw add16(Raw a, Raw b) { return _mm256_add_epi16(a, b); }
HWY_INLINE Raw add32(Raw a, Raw b) { return _mm256_add_epi32(a, b); }
HWY_INLINE Raw madd16(Raw a, Raw b) { return _mm256_madd_epi16(a, b); }
HWY_INLINE Raw ones16() { return _mm256_set1_epi16(1); }
HWY_INLINE Raw zero_raw() { return _mm256_setzero_si256(); }
HWY_INLINE Raw quad(const void* x) {
  int32_t q;
  std::memcpy(&q, x, 4);
  return _mm256_set1_epi32(q);
}
HWY_INLINE Raw load_raw(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
HWY_INLINE Raw magnitude(Raw s8) { return _mm256_abs_epi8(s8); }
HWY_INLINE Raw with_sign_of(Raw x, Raw s8) { return _mm256_sign_epi8(x, s8); }
#else
using Raw = __m512i;
HWY_INLINE Raw madd_pairs(Raw u8, Raw s8) { return _mm512_maddubs_epi16(u8, s8); }
HWY_INLINE Raw add16(Raw a, Raw b) { return _mm512_add_epi16(a, b); }
HWY_INLINE Raw add32(Raw a, Raw b) { return _mm512_add_epi32(a, b); }
HWY_INLINE Raw madd16(Raw a, Raw b) { return _mm512_madd_epi16(a, b); }
HWY_INLINE Raw ones16() { return _mm512_set1_epi16(1); }
HWY_INLINE Raw zero_raw() { return _mm512_setzero_si512(); }
HWY_INLINE Raw quad(const void* x) {
  int32_t q;
  std::memcpy(&q, x, 4);
  return _mm512_set1_epi32(q);
}
HWY_INLINE Raw load_raw(const void* p) { return _mm512_loadu_si512(p); }
HWY_INLINE Raw magnitude(Raw s8) { return _mm512_abs_epi8(s8); }
HWY_INLINE Raw with_sign_of(Raw x, Raw s8) {
  return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(s8), _mm512_setzero_si512(), x);
}
#endif

// Codes ready to be multiplied with many rows.
template <bool kSigned>
struct Factor {
  Raw v[kRegs], sign[kSigned ? kRegs : 1];
  HWY_INLINE explicit Factor(const Codes& c) {
    for (int r = 0; r < kRegs; r++) {
      v[r] = kSigned ? magnitude(c.v[r].raw) : c.v[r].raw;
      MLXCEL_PIN(v[r]);
      if (kSigned) sign[r] = c.v[r].raw;
    }
  }
};

// Weights for the 16-bit lanes of a dot: output r has lanes 2 r and 2 r + 1.
struct LaneScale {
  Raw v[kRegs];
  HWY_INLINE static LaneScale one() {
    LaneScale s;
    for (int r = 0; r < kRegs; r++) s.v[r] = ones16();
    return s;
  }
  HWY_INLINE static LaneScale load(const int16_t* p) {  // [32]
    LaneScale s;
    for (int r = 0; r < kRegs; r++) s.v[r] = load_raw(p + r * (32 / kRegs));
    return s;
  }
};

// Sum over quads of number * x, each stretch of kSub quads weighted by a LaneScale.
template <int kMax, bool kSigned, int kSub>
struct Dot {
  // The sign trick multiplies magnitudes up to 128: one pair of products fits.
  static constexpr int kFit = kSigned ? 1 : kQuadsThatFit<kMax, 2>;
  static constexpr int kChunk = kFit < kSub ? kFit : kSub;
  static constexpr int kAdded = 0;  // to every number
  using Factors = Factor<kSigned>;
  Raw a[kRegs], wide[kRegs];

  HWY_INLINE void clear() {
    for (Raw& w : wide) w = zero_raw();
  }
  // kJ counts quads from the start of the dot; where it starts at 8, `wide` must have been cleared.
  template <int kJ>
  HWY_INLINE void add(const Factor<kSigned>& q, const int8_t* x, const LaneScale& scale) {
    const Raw xq = quad(x);
    Raw p[kRegs];
    for (int r = 0; r < kRegs; r++) {
      p[r] = madd_pairs(q.v[r], kSigned ? with_sign_of(xq, q.sign[r]) : xq);
      MLXCEL_PIN(p[r]);
    }
    for (int r = 0; r < kRegs; r++) {
      a[r] = kJ % kChunk == 0 ? p[r] : add16(a[r], p[r]);
      MLXCEL_PIN(a[r]);
    }
    if (kJ % kChunk != kChunk - 1) return;
    for (int r = 0; r < kRegs; r++) {
      const Raw w = madd16(a[r], scale.v[r]);
      wide[r] = kJ < kChunk ? w : add32(wide[r], w);
      MLXCEL_PIN(wide[r]);
    }
  }
  HWY_INLINE Ints ints() const {
    Ints s;
    for (int r = 0; r < kRegs; r++) s.v[r] = VI{wide[r]};
    return s;
  }
};

// sum += pairs of 16-bit weights . the pair of sums at `part`, for 16 outputs.
HWY_INLINE void add_pair(Ints* sum, const int16_t* weights, const int16_t* part) {
  for (int r = 0; r < kRegs; r++) {
    sum->v[r].raw = add32(sum->v[r].raw, madd16(load_raw(weights + r * (32 / kRegs)), quad(part)));
  }
}

// vpdpbusd adds four products to a 32-bit lane; numbers must be unsigned, so signed ones get 128
// added. The lanes need no weights here: one level only.
#if HWY_TARGET == HWY_AVX3_DL
HWY_INLINE void dot_four(Raw* sum, Raw u8, Raw s8) {
  *sum = _mm512_dpbusd_epi32(*sum, u8, s8);
  MLXCEL_PIN(*sum);
}
#elif HWY_TARGET == HWY_AVX2
// Written as assembly, so that the functions around it need no target that AVX2 code must not have.
HWY_INLINE void dot_four(Raw* sum, Raw u8, Raw s8) {
  asm volatile("%{vex%} vpdpbusd %2, %1, %0" : "+x"(*sum) : "x"(u8), "x"(s8));
}
#endif
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX2
template <bool kSigned>
struct VnniDot {
  static constexpr int kAdded = kSigned ? 128 : 0;
  struct Factors {
    Raw v[kRegs];
    HWY_INLINE explicit Factors(const Codes& c) {
      const VB high = hn::Set(B(), 128);
      for (int r = 0; r < kRegs; r++) v[r] = kSigned ? hn::Xor(c.v[r], high).raw : c.v[r].raw;
    }
  };
  Raw sum[kRegs];

  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale&) {
    const Raw xq = quad(x);
    for (int r = 0; r < kRegs; r++) {
      if (kJ == 0) sum[r] = zero_raw();
      dot_four(&sum[r], q.v[r], xq);
    }
  }
  HWY_INLINE Ints ints() const {
    Ints s;
    for (int r = 0; r < kRegs; r++) s.v[r] = VI{sum[r]};
    return s;
  }
};
#endif

#else  // NEON

template <bool kSigned>
struct Factor {
  int8x16_t v[4];
  HWY_INLINE explicit Factor(const Codes& c) {
    for (int r = 0; r < 4; r++) v[r] = vreinterpretq_s8_u8(c.v[r].raw);
  }
};

struct LaneScale {
  const int16_t* p = nullptr;  // null: one
  HWY_INLINE static LaneScale one() { return {}; }
  HWY_INLINE static LaneScale load(const int16_t* p) { return {p}; }
};

template <int kMax, bool kSigned, int kSub>
struct Dot {
  static constexpr int kFit = kQuadsThatFit<kMax, 1>;
  static constexpr int kChunk = kFit < kSub ? kFit : kSub;
  static constexpr int kAdded = 0;
  using Factors = Factor<kSigned>;
  int16x8_t a[8];
  int32x4_t wide[8];  // pairs of lanes belong to one output

  HWY_INLINE void clear() {
    for (int32x4_t& w : wide) w = vdupq_n_s32(0);
  }
  template <int kJ>
  HWY_INLINE void add(const Factor<kSigned>& q, const int8_t* x, const LaneScale& scale) {
    int32_t four;
    std::memcpy(&four, x, 4);
    const int8x8_t xq = vreinterpret_s8_s32(vdup_n_s32(four));
    for (int i = 0; i < 8; i++) {
      const int8x8_t half = i % 2 ? vget_high_s8(q.v[i / 2]) : vget_low_s8(q.v[i / 2]);
      a[i] = kJ % kChunk == 0 ? vmull_s8(half, xq) : vmlal_s8(a[i], half, xq);
    }
    if (kJ % kChunk != kChunk - 1) return;
    for (int i = 0; i < 8; i++) {
      int32x4_t w = vpaddlq_s16(a[i]);
      if (scale.p != nullptr) w = vmulq_s32(w, vmovl_s16(vld1_s16(scale.p + 4 * i)));
      wide[i] = kJ < kChunk ? w : vaddq_s32(wide[i], w);
    }
  }
  HWY_INLINE Ints ints() const {
    Ints s;
    for (int r = 0; r < 4; r++) s.v[r] = VI(vpaddq_s32(wide[2 * r], wide[2 * r + 1]));
    return s;
  }
};

// sdot adds four products to a 32-bit lane. Every number fits a signed byte. Assembly, so that the
// functions around it need no architecture that NEON code must not have.
template <bool kSigned>
struct NeonDot {
  static constexpr int kAdded = 0;
  using Factors = Factor<kSigned>;
  int32x4_t sum[4];

  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale&) {
    int32_t four;
    std::memcpy(&four, x, 4);
    const int8x16_t xq = vreinterpretq_s8_s32(vdupq_n_s32(four));
    for (int r = 0; r < 4; r++) {
      if (kJ == 0) sum[r] = vdupq_n_s32(0);
      asm(".arch armv8.2-a+dotprod+crypto\n\tsdot %0.4s, %1.16b, %2.16b"
          : "+w"(sum[r])
          : "w"(q.v[r]), "w"(xq));
    }
  }
  HWY_INLINE Ints ints() const {
    Ints s;
    for (int r = 0; r < 4; r++) s.v[r] = VI(sum[r]);
    return s;
  }
};

HWY_INLINE void add_pair(Ints* sum, const int16_t* weights, const int16_t* part) {
  const int32x4_t low = vdupq_n_s32(part[0]), high = vdupq_n_s32(part[1]);
  for (int r = 0; r < 4; r++) {
    const int16x4x2_t w = vld2_s16(weights + 8 * r);
    int32x4_t s = vmlaq_s32(sum->v[r].raw, vmovl_s16(w.val[0]), low);
    sum->v[r].raw = vmlaq_s32(s, vmovl_s16(w.val[1]), high);
  }
}

#endif

// The dot of 32 k with one level of scales.
template <int kMax, bool kSigned, DotBy kBy>
struct DotOf {
  using Type = Dot<kMax, kSigned, 8>;
};
#if HWY_TARGET == HWY_AVX3_DL
template <int kMax, bool kSigned>
struct DotOf<kMax, kSigned, DotBy::kWidest> {
  using Type = VnniDot<kSigned>;
};
#elif HWY_TARGET == HWY_AVX2
template <int kMax, bool kSigned>
struct DotOf<kMax, kSigned, DotBy::kNamed> {
  using Type = VnniDot<kSigned>;
};
#elif HWY_TARGET == HWY_NEON
template <int kMax, bool kSigned>
struct DotOf<kMax, kSigned, DotBy::kNamed> {
  using Type = NeonDot<kSigned>;
};
#endif

HWY_INLINE Lanes to_floats(const Ints& s) {
  Lanes f;
  for (int i = 0; i < kParts; i++) f.v[i] = hn::ConvertTo(F(), s.v[i]);
  return f;
}

HWY_INLINE Ints zero_ints() {
  Ints s;
  for (int i = 0; i < kParts; i++) s.v[i] = hn::Zero(hn::Repartition<int32_t, F>());
  return s;
}

// s - kTimes * other
template <int kTimes>
HWY_INLINE Ints minus_scaled(Ints s, Ints other) {
  if (kTimes == 0) return s;
  const auto times = hn::Set(hn::Repartition<int32_t, F>(), kTimes);
  for (int i = 0; i < kParts; i++) {
    s.v[i] = hn::Sub(s.v[i], kTimes == 1 ? other.v[i] : hn::Mul(other.v[i], times));
  }
  return s;
}

// s - kOffset * total
template <int kOffset>
HWY_INLINE Ints minus_offset(const Ints& s, int32_t total) {
  if (kOffset == 0) return s;
  Ints t;
  for (int i = 0; i < kParts; i++) t.v[i] = hn::Set(hn::Repartition<int32_t, F>(), total);
  return minus_scaled<kOffset>(s, t);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
