// The sums of dot-inl.h by NEON, with and without sdot. Part of that file, which alone includes it.
MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

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
  HWY_INLINE static LaneScale load(const int16_t* p, int) { return {p}; }
};

// The weights of outputs 4 r to 4 r + 3: both lanes of an output hold its own.
HWY_INLINE int32x4_t output_scale(const int16_t* p, int r) {
  return vshrq_n_s32(vreinterpretq_s32_s16(vld1q_s16(p + 8 * r)), 16);
}

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
  HWY_INLINE VI ints(int r) const { return VI(vpaddq_s32(wide[2 * r], wide[2 * r + 1])); }
};

// sdot adds four products to a 32-bit lane. Every number fits a signed byte. Assembly, so that the
// functions around it need no architecture that NEON code must not have.
HWY_INLINE void dot_four(int32x4_t* sum, int8x16_t w, int8x16_t x) {
  asm(".arch armv8.2-a+dotprod+crypto\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(*sum) : "w"(w), "w"(x));
}
HWY_INLINE int8x16_t quad(const int8_t* x) {
  int32_t four;
  std::memcpy(&four, x, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

template <bool kSigned>
struct NeonDot {
  static constexpr int kAdded = 0;
  using Factors = Factor<kSigned>;
  int32x4_t sum[4];

  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale&) {
    const int8x16_t xq = quad(x);
    for (int r = 0; r < 4; r++) {
      if (kJ == 0) sum[r] = vdupq_n_s32(0);
      dot_four(&sum[r], q.v[r], xq);
    }
  }
  HWY_INLINE VI ints(int r) const { return VI(sum[r]); }
};

template <int kSub>
struct NeonSubDot {
  using Factors = Factor<false>;
  int32x4_t sum[4], wide[4];

  HWY_INLINE void clear() {
    for (int32x4_t& w : wide) w = vdupq_n_s32(0);
  }
  template <int kJ>
  HWY_INLINE void add(const Factors& q, const int8_t* x, const LaneScale& scale) {
    const int8x16_t xq = quad(x);
    for (int r = 0; r < 4; r++) {
      if (kJ % kSub == 0) sum[r] = vdupq_n_s32(0);
      dot_four(&sum[r], q.v[r], xq);
      if (kJ % kSub == kSub - 1) wide[r] = vmlaq_s32(wide[r], sum[r], output_scale(scale.p, r));
    }
  }
  HWY_INLINE VI ints(int r) const { return VI(wide[r]); }
};

HWY_INLINE void add_pair(Ints* sum, const int16_t* weights, const int16_t* part) {
  const int32x4_t low = vdupq_n_s32(part[0]), high = vdupq_n_s32(part[1]);
  for (int r = 0; r < 4; r++) {
    const int16x4x2_t w = vld2_s16(weights + 8 * r);
    int32x4_t s = vmlaq_s32(sum->v[r].raw, vmovl_s16(w.val[0]), low);
    sum->v[r].raw = vmlaq_s32(s, vmovl_s16(w.val[1]), high);
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
