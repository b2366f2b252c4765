// Conversions of one register, for kernels that read or write half floats. Include after
// kernels/targets.h, inside no namespace.
//
// Highway's demotions differ between its targets (F16 from f32, bf16 truncates): the instructions
// are named here.
#if defined(MLXCEL_CONVERT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_CONVERT_INL
#undef MLXCEL_CONVERT_INL
#else
#define MLXCEL_CONVERT_INL
#endif

#include "kernels/lanes-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

using U = hn::RebindToUnsigned<F>;
using U16 = hn::Rebind<uint16_t, F>;

HWY_INLINE VF load_f16(const uint16_t* p) {  // kWidth halves
  const hn::Rebind<hwy::float16_t, F> h;
  return hn::PromoteTo(F(), hn::LoadU(h, reinterpret_cast<const hwy::float16_t*>(p)));
}

HWY_INLINE VF load_bf16(const uint16_t* p) {
  return hn::BitCast(F(), hn::ShiftLeft<16>(hn::PromoteTo(U(), hn::LoadU(U16(), p))));
}

HWY_INLINE void store_f16(VF v, uint16_t* p) {
#if HWY_ARCH_X86
#if HWY_TARGET <= HWY_AVX3
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_cvtps_ph(v.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
#else
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v.raw)));  // FPCR: nearest even
#endif
}

HWY_INLINE void store_bf16(VF v, uint16_t* p) {
  const U u;
  const auto bits = hn::BitCast(u, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7fff))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(u, 0x40));
  const auto nan = hn::Gt(hn::And(bits, hn::Set(u, 0x7fffffff)), hn::Set(u, 0x7f800000));
  hn::StoreU(hn::TruncateTo(U16(), hn::IfThenElse(nan, quiet, rounded)), U16(), p);
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
