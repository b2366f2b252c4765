#include "kernels/matmul/quantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/quantize_cpu.cc"
#include "kernels/targets.h"

#include "kernels/lanes-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {

using I = hn::Repartition<int32_t, F>;

// The largest magnitude of the group as bits: for magnitudes, integers order as floats do, and any
// NaN or infinity is at least 0x7f800000.
template <int kGroup>
HWY_INLINE uint32_t max_magnitude_bits(const float* x) {
  const I di;
  const auto mask = hn::Set(di, 0x7fffffff);
  auto max = hn::Zero(di);
  for (int k = 0; k < kGroup; k += kWidth) {
    max = hn::Max(max, hn::And(hn::BitCast(di, hn::LoadU(F(), x + k)), mask));
  }
  return static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(di, max)));
}

template <int kGroup>
HWY_INLINE void quantize_group(const float* x, int row, Tile<kGroup>* out) {
  constexpr int kPart = kGroup == 32 ? 32 : 16;  // codes that are summed together
  const uint32_t bits = max_magnitude_bits<kGroup>(x);
  float amax;
  std::memcpy(&amax, &bits, 4);
  const bool finite = bits < 0x7f800000u, code = finite && amax >= 0x1p-100f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  out->scale[row] = !finite ? nan : code ? amax / 127.0f : 0.0f;
  int part[kGroup / 16] = {};
  if (!code) {
    std::memset(out->x[row], 0, kGroup);
    return store_sums(part, row, out);
  }
  const I di;
  const hn::Rebind<int8_t, I> d8;
  const auto inverse = hn::Set(F(), 127.0f / amax);
  for (int p = 0; p < kGroup / kPart; p++) {
    auto sum = hn::Zero(di);
    for (int k = p * kPart; k < (p + 1) * kPart; k += kWidth) {
      const auto q = hn::NearestInt(hn::Mul(hn::LoadU(F(), x + k), inverse));
      hn::StoreU(hn::DemoteTo(d8, q), d8, out->x[row] + k);
      sum = hn::Add(sum, q);
    }
    part[p] = hn::GetLane(hn::SumOfLanes(di, sum));
  }
  store_sums(part, row, out);
}

template <int kGroup>
HWY_INLINE void quantize(const QuantizeArgs& a) {
  const int64_t groups = a.in / kGroup;
  auto* tiles = static_cast<Tile<kGroup>*>(a.out);
  for (int64_t m = a.first_row; m < a.last_row; m++) {
    for (int64_t g = 0; g < groups; g++) {
      quantize_group<kGroup>(a.x + m * a.ldx + g * kGroup, static_cast<int>(m % 4),
                             tiles + m / 4 * groups + g);
    }
  }
}

}  // namespace

void quantize_rows(const QuantizeArgs& a) {
  if (a.group == 32) {
    quantize<32>(a);
  } else {
    quantize<256>(a);
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel {

int64_t quantized_bytes(int group, int64_t rows, int64_t in) {
  const int64_t tile = group == 32 ? sizeof(Tile<32>) : sizeof(Tile<256>);
  return (rows + 3) / 4 * (in / group) * tile;
}

void quantize_rows(const QuantizeArgs& args) { MLXCEL_DISPATCH(quantize_rows)(args); }

}  // namespace mlxcel
#endif
