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
static_assert(kRegs == kParts);

// Registers of outputs that are worked on together; a side is so many of a block's. AVX2 has 16
// registers, too few for the chains of four rows and all their sums at once.
inline constexpr int kSide = HWY_TARGET == HWY_AVX2 ? 1 : kRegs;
inline constexpr int kSides = kRegs / kSide;

struct Codes {  // one side of 16 outputs x 4 k
  VB v[kSide];
  HWY_INLINE Codes() {}  // written out: GCC gives an implicit one no target attributes
};

using VI = hn::Vec<hn::Repartition<int32_t, F>>;
struct Ints {  // 16 outputs
  VI v[kParts];
  HWY_INLINE Ints() {}
};

// Which instruction makes the dots: the best of the target itself, or one that the CPU has beside
// it and that is asked for by name (named_dot_cpu.cc).
enum class DotBy { kWidest, kNamed };

// How often the numbers of a code are added before a 16-bit lane could overflow. A lane takes
// `products` of |number| <= kMax with |x| <= 127 per quad.
template <int kMax, int kProducts>
inline constexpr int kQuadsThatFit = [] {
  const int fit = 32767 / (kProducts * 127 * kMax);
  return fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : fit;
}();

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ARCH_X86
#include "kernels/matmul/dot_x86-inl.h"
#else
#include "kernels/matmul/dot_neon-inl.h"
#endif

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

// The dot of 32 k with one level of scales, and of a unit of two levels with kSub quads a
// sub-scale.
template <int kMax, bool kSigned, DotBy kBy>
struct DotOf {
  using Type = Dot<kMax, kSigned, 8>;
};
template <int kMax, int kSub, DotBy kBy>
struct SubDotOf {
  using Type = Dot<kMax, false, kSub>;
};
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX2
inline constexpr DotBy kVnni = HWY_TARGET == HWY_AVX2 ? DotBy::kNamed : DotBy::kWidest;
template <int kMax, bool kSigned>
struct DotOf<kMax, kSigned, kVnni> {
  using Type = VnniDot<kSigned>;
};
template <int kMax, int kSub>
struct SubDotOf<kMax, kSub, kVnni> {
  using Type = VnniSubDot<kSub>;
};
#elif HWY_TARGET == HWY_NEON
template <int kMax, bool kSigned>
struct DotOf<kMax, kSigned, DotBy::kNamed> {
  using Type = NeonDot<kSigned>;
};
template <int kMax, int kSub>
struct SubDotOf<kMax, kSub, DotBy::kNamed> {
  using Type = NeonSubDot<kSub>;
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
