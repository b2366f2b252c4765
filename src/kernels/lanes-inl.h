// Sixteen virtual f32 lanes on every target: two AVX2 registers, one AVX-512 register, four NEON
// registers.
//
// A reduction that runs in these lanes has one order everywhere. Include after kernels/targets.h,
// inside no namespace.
#if defined(MLXCEL_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_LANES_INL
#undef MLXCEL_LANES_INL
#else
#define MLXCEL_LANES_INL
#endif

#include <cstdint>

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::CappedTag<float, 16>;
using VF = hn::Vec<F>;
inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(F()));
inline constexpr int kParts = 16 / kWidth;  // registers for sixteen lanes

struct Lanes {
  VF v[kParts];

  HWY_INLINE Lanes() {}  // written out: GCC gives an implicit one no target attributes
  HWY_INLINE static Lanes load(const float* p) {
    Lanes r;
    for (int i = 0; i < kParts; i++) r.v[i] = hn::LoadU(F(), p + i * kWidth);
    return r;
  }
  // The first n < 16 floats of p, then zeros; nothing after them is read.
  HWY_INLINE static Lanes load_first(const float* p, int64_t n) {
    float s[16] = {};
    for (int64_t i = 0; i < n; i++) s[i] = p[i];
    return load(s);
  }
  HWY_INLINE static Lanes set(float x) {
    Lanes r;
    for (int i = 0; i < kParts; i++) r.v[i] = hn::Set(F(), x);
    return r;
  }
  HWY_INLINE void store(float* p) const {
    for (int i = 0; i < kParts; i++) hn::StoreU(v[i], F(), p + i * kWidth);
  }
  HWY_INLINE void store_first(float* p, int64_t n) const {
    float s[16];
    store(s);
    for (int64_t i = 0; i < n; i++) p[i] = s[i];
  }
};

HWY_INLINE Lanes operator+(Lanes a, Lanes b) {
  for (int i = 0; i < kParts; i++) a.v[i] = hn::Add(a.v[i], b.v[i]);
  return a;
}
HWY_INLINE Lanes operator-(Lanes a, Lanes b) {
  for (int i = 0; i < kParts; i++) a.v[i] = hn::Sub(a.v[i], b.v[i]);
  return a;
}
HWY_INLINE Lanes operator*(Lanes a, Lanes b) {
  for (int i = 0; i < kParts; i++) a.v[i] = hn::Mul(a.v[i], b.v[i]);
  return a;
}
HWY_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {  // a b + c, rounded once
  for (int i = 0; i < kParts; i++) a.v[i] = hn::MulAdd(a.v[i], b.v[i], c.v[i]);
  return a;
}

// The fixed tree over sixteen lanes: halves are added until one is left (rms_norm.h's reduce16).
HWY_INLINE float reduce_sum(Lanes a) {
  float s[16];
  a.store(s);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) s[i] = s[i] + s[i + half];
  }
  return s[0];
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
