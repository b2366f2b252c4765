// Matmul of all coded weights by a dot instruction that a CPU may have beside Highway's AVX2 or
// NEON: AVX-VNNI's vpdpbusd, NEON's sdot. Compiled once, for that target alone.
#include "kernels/matmul/kernels.h"

#include "hwy/highway.h"
#define MLXCEL_BEFORE_TARGET HWY_BEFORE_NAMESPACE();
#define MLXCEL_AFTER_TARGET HWY_AFTER_NAMESPACE();

#include "kernels/matmul/versions-inl.h"

static_assert(HWY_TARGET == (HWY_ARCH_X86 ? HWY_AVX2 : HWY_NEON));

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {
template <class K>
void one(const MatmulArgs& a) {
  one_level<K>(a);
}
template <class K>
void two(const MatmulArgs& a) {
  two_level<K>(a);
}
}  // namespace

MatmulKernel named_dot_kernel(MatmulKernel plain) {
  return version_of<DotBy::kNamed>(
      plain, [](auto k) -> MatmulKernel { return one<decltype(k)>; },
      [](auto k) -> MatmulKernel { return two<decltype(k)>; });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

namespace mlxcel {
MatmulKernel named_dot_kernel(MatmulKernel plain) { return HWY_NAMESPACE::named_dot_kernel(plain); }
}  // namespace mlxcel
