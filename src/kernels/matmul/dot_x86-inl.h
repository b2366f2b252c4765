// The sums of dot-inl.h by AVX2, AVX-512 and both kinds of VNNI. Part of that file, which alone
// includes it, once for each target.
MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
using Raw = __m256i;
HWY_INLINE Raw madd_pairs(Raw u8, Raw s8) { return _mm256_maddubs_epi16(u8, s8); }
HWY_INLINE Raw add16(Raw a, Raw b) { return _mm256_add_epi16(a, b); }
HWY_INLINE Raw add32(Raw a, Raw b) { return _mm256_add_epi32(a, b); }
HWY_INLINE Raw madd16(Raw a, Raw b) { return _mm256_madd_epi16(a, b); }
HWY_INLINE Raw ones16() { return _mm256_set1_epi16(1); }
HWY_INLINE Raw zero_raw() { return _mm256_setzero_si256(); }
HWY_INLINE Raw mul32(Raw a, Raw b) { return _mm256_mullo_epi32(a, b); }
HWY_INLINE Raw upper16(Raw v) { return _mm256_srai_epi32(v, 16); }  // of 32-bit lanes
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
HWY_INLINE Raw mul32(Raw a, Raw b) { return _mm512_mullo_epi32(a, b); }
HWY_INLINE Raw upper16(Raw v) { return _mm512_srai_epi32(v, 16); }  // of 32-bit lanes
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
  Raw v[kSide], sign[kSigned ? kSide : 1];
  HWY_INLINE explicit Factor(const Codes& c) {
    for (int r = 0; r < kSide; r++) {
      v[r] = kSigned ? magnitude(c.v[r].raw) : c.v[r].raw;
      MLXCEL_PIN(v[r]);
      if (kSigned) sign[r] = c.v[r].raw;
    }
  }
};

// Weights for the 16-bit lanes of a side: output r has lanes 2 r and 2 r + 1.
struct LaneScale {
  Raw v[kSide];
  HWY_INLINE static LaneScale one() {
    LaneScale s;
    for (int r = 0; r < kSide; r++) s.v[r] = ones16();
    return s;
  }
  HWY_INLINE static LaneScale load(const int16_t* p, int side) {  // [32]
    LaneScale s;
    for (int r = 0; r < kSide; r++) s.v[r] = load_raw(p + (side * kSide + r) * (32 / kRegs));
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
  Raw a[kSide], wide[kSide];

  HWY_INLINE void clear() {
    for (Raw& w : wide) w = zero_raw();
  }
  // kJ counts quads from the start of the dot; where it starts at 8, `wide` must have been cleared.
  template <int kJ>
  HWY_INLINE void add(const Factor<kSigned>& q, const int8_t* x, const LaneScale& scale) {
    const Raw xq = quad(x);
    Raw p[kSide];
    for (int r = 0; r < kSide; r++) {
      p[r] = madd_pairs(q.v[r], kSigned ? with_sign_of(xq, q.sign[r]) : xq);
      MLXCEL_PIN(p[r]);
    }
    for (int r = 0; r < kSide; r++) {
      a[r] = kJ % kChunk == 0 ? p[r] : add16(a[r], p[r]);
      MLXCEL_PIN(a[r]);
    }
    if (kJ % kChunk != kChunk - 1) return;
    for (int r = 0; r < kSide; r++) {
      const Raw w = madd16(a[r], scale.v[r]);
      wide[r] = kJ < kChunk ? w : add32(wide[r], w);
      MLXCEL_PIN(wide[r]);
    }
  }
  HWY_INLINE VI ints(int r) const { return VI{wide[r]}; }
};

// sum += pairs of 16-bit weights . the pair of sums at `part`, for 16 outputs.
HWY_INLINE void add_pair(Ints* sum, const int16_t* weights, const int16_t* part) {
  for (int r = 0; r < kRegs; r++) {
    sum->v[r].raw = add32(sum->v[r].raw, madd16(load_raw(weights + r * (32 / kRegs)), quad(part)));
  }
}

// vpdpbusd adds four products to a 32-bit lane; numbers must be unsigned, so signed ones get 128
// added.
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
    Raw v[kSide];
    HWY_INLINE explicit Factors(const Codes& c) {
      const VB high = hn::Set(B(), 128);
      for (int r = 0; r < kSide; r++) v[r] = kSigned ? hn::Xor(c.v[r], high).raw : c.v[r].raw;
    }
  };
  Raw sum[kSide];

  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale&) {
    const Raw xq = quad(x);
    for (int r = 0; r < kSide; r++) {
      if (kJ == 0) sum[r] = zero_raw();
      dot_four(&sum[r], q.v[r], xq);
    }
  }
  HWY_INLINE VI ints(int r) const { return VI{sum[r]}; }
};

// Two levels: each stretch of kSub quads, then its product with the sub-scale.
template <int kSub>
struct VnniSubDot {
  using Factors = Factor<false>;
  Raw sum[kSide], wide[kSide];

  HWY_INLINE void clear() {
    for (Raw& w : wide) w = zero_raw();
  }
  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale& scale) {
    const Raw xq = quad(x);
    for (int r = 0; r < kSide; r++) {
      if (kJ % kSub == 0) sum[r] = zero_raw();
      dot_four(&sum[r], q.v[r], xq);
      if (kJ % kSub == kSub - 1) wide[r] = add32(wide[r], mul32(sum[r], upper16(scale.v[r])));
    }
  }
  HWY_INLINE VI ints(int r) const { return VI{wide[r]}; }
};
#endif

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
