// The noise of 64 consecutive tokens: enough independent chains to hide a multiplication's latency.
// Include after kernels/targets.h, inside no namespace.
#if defined(MLXCEL_NOISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MLXCEL_NOISE_INL
#undef MLXCEL_NOISE_INL
#else
#define MLXCEL_NOISE_INL
#endif

#include "kernels/sample/sample.h"
#include "kernels/vector_math/vector_math-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

using U = hn::RebindToUnsigned<F>;
using U64 = hn::Repartition<uint64_t, F>;

inline constexpr int kPhilox = 2 * kParts;  // registers of a block

// Sixteen Philox counters, one per 64-bit lane. Only the low halves of the four words mean
// anything: the multiplication reads no more.
struct Words {
  hn::Vec<U64> even[kPhilox], odd[kPhilox];  // words 0, 1 and words 2, 3 of each counter

  HWY_INLINE Words() {}  // written out: GCC gives an implicit one no target attributes

  uint32_t least() const {  // of the 64 words
    const U u;
    auto m = hn::Min(hn::BitCast(u, even[0]), hn::BitCast(u, odd[0]));
    for (int i = 1; i < kPhilox; i++) {
      m = hn::Min(m, hn::Min(hn::BitCast(u, even[i]), hn::BitCast(u, odd[i])));
    }
    return hn::GetLane(hn::MinOfLanes(u, m));
  }
  void store(uint32_t* words) const {
    constexpr int kLanes = kWidth / 2;
    for (int i = 0; i < kPhilox; i++) {
      hn::StoreInterleaved2(even[i], odd[i], U64(),
                            reinterpret_cast<uint64_t*>(words) + i * 2 * kLanes);
    }
  }
};

// What all blocks of a draw have in common. Keys of the rounds are kept in memory, from where a
// register is filled without arithmetic.
struct Noise {
  uint64_t choice, low, high;  // counter words 1 to 3
  uint64_t key[10][2];
  uint64_t index[16];  // 0 to 15: Highway's Iota writes them one by one each time

  explicit Noise(const SampleArgs& a)
      : choice(a.choice), low(a.position & 0xffffffff), high(a.position >> 32) {
    uint32_t k0 = static_cast<uint32_t>(a.seed), k1 = static_cast<uint32_t>(a.seed >> 32);
    for (int i = 0; i < 16; i++) index[i] = i;
    for (auto& k : key) {
      k[0] = k0, k[1] = k1;
      k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
  }
};

// Tokens 4 `counter` to 4 `counter` + 63.
HWY_INLINE Words philox(const Noise& noise, uint32_t counter) {
  const U u;
  const U64 u64;
  using V = hn::Vec<U64>;
  const auto multiply = [&](V x, uint32_t m)
                            HWY_ATTR { return hn::MulEven(hn::BitCast(u, x), hn::Set(u, m)); };
  V c0[kPhilox], c1[kPhilox], c2[kPhilox], c3[kPhilox];
  for (int i = 0; i < kPhilox; i++) {
    c0[i] = hn::Add(hn::LoadU(u64, noise.index + i * (kWidth / 2)), hn::Set(u64, counter));
    c1[i] = hn::Set(u64, noise.choice);
    c2[i] = hn::Set(u64, noise.low);
    c3[i] = hn::Set(u64, noise.high);
  }
  for (const auto& key : noise.key) {
    const V key0 = hn::Set(u64, key[0]), key1 = hn::Set(u64, key[1]);
    for (int i = 0; i < kPhilox; i++) {
      const V p0 = multiply(c0[i], 0xD2511F53), p1 = multiply(c2[i], 0xCD9E8D57);
      c0[i] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1[i]), key0);
      c2[i] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3[i]), key1);
      c1[i] = p1, c3[i] = p0;
    }
  }
  const V low = hn::Set(u64, 0xffffffff);
  Words w;
  for (int i = 0; i < kPhilox; i++) {
    w.even[i] = hn::Or(hn::And(c0[i], low), hn::ShiftLeft<32>(c1[i]));
    w.odd[i] = hn::Or(hn::And(c2[i], low), hn::ShiftLeft<32>(c3[i]));
  }
  return w;
}

// gumbel_tree of every lane.
HWY_INLINE VF gumbel(hn::Vec<U> r) {
  const F f;
  const I i;
  const U u;
  const auto small = hn::Lt(hn::BitCast(i, hn::ShiftRight<16>(r)), hn::Set(i, kGumbelSmall));
  const auto x =
      hn::Xor(r, hn::IfThenElse(hn::RebindMask(u, small), hn::Zero(u), hn::Set(u, 0xffffffff)));
  const VF high = hn::ConvertTo(f, hn::BitCast(i, hn::ShiftRight<16>(x)));
  const VF low = hn::ConvertTo(f, hn::BitCast(i, hn::And(x, hn::Set(u, 0xffff))));
  const VF v = hn::Mul(hn::MulAdd(high, hn::Set(f, 65536), hn::Add(low, hn::Set(f, 0.5f))),
                       hn::Set(f, 0x1p-32f));
  // As in log(), with the parts of 1 - v where that is the exact number.
  const auto bits = hn::BitCast(i, v);
  const auto n = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i, vm::kSqrtHalfBits)));
  const VF m = hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(n)));
  const auto is_small = hn::RebindMask(f, small);
  const VF z = hn::IfThenElse(is_small, hn::Neg(v), hn::Sub(m, hn::Set(f, 1)));
  const VF count = hn::IfThenElse(is_small, hn::Zero(f), hn::ConvertTo(f, n));
  return hn::Neg(log(hn::Neg(log_parts(z, count))));
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#endif
