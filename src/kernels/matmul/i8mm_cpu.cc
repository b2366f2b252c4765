// Matmul of all coded weights by NEON's smmla, compiled for NEON alone.
#include "kernels/matmul/kernels.h"

#include "hwy/highway.h"
#if HWY_ARCH_ARM_A64
#define MLXCEL_BEFORE_TARGET HWY_BEFORE_NAMESPACE();
#define MLXCEL_AFTER_TARGET HWY_AFTER_NAMESPACE();

#include "kernels/matmul/i8mm-inl.h"

static_assert(HWY_TARGET == HWY_NEON);

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {
template <class K>
void one(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, i8mm::one_level<K>);
}
template <class K>
void two(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, i8mm::two_level<K>);
}

MatmulKernel kernel(MatmulKernel plain) {
  return version_of<DotBy::kNamed>(
      plain, [](auto k) -> MatmulKernel { return one<decltype(k)>; },
      [](auto k) -> MatmulKernel { return two<decltype(k)>; });
}
}  // namespace
}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

namespace mlxcel {
MatmulKernel i8mm_kernel(MatmulKernel plain) { return HWY_NAMESPACE::kernel(plain); }
}  // namespace mlxcel
#else
namespace mlxcel {
MatmulKernel i8mm_kernel(MatmulKernel plain) { return plain; }
}  // namespace mlxcel
#endif
