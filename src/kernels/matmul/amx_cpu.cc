// Matmul of all coded weights by AMX tiles, compiled for AVX-512 with VNNI alone.
#include "kernels/matmul/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/amx_cpu.cc"
#include "kernels/targets.h"

#include "kernels/matmul/versions-inl.h"
#if HWY_TARGET == HWY_AVX3_DL
#include "kernels/matmul/amx-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {
template <class K>
void one(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, amx::one_level<K>);
}
template <class K>
void two(const MatmulArgs& a) {
  for_whole_and_cut_blocks(a, amx::two_level<K>);
}
}  // namespace

MatmulKernel amx_kernel(MatmulKernel plain) {
  return version_of<DotBy::kWidest>(
      plain, [](auto k) -> MatmulKernel { return one<decltype(k)>; },
      [](auto k) -> MatmulKernel { return two<decltype(k)>; });
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
#endif

#if HWY_ONCE
namespace mlxcel {
MatmulKernel amx_kernel(MatmulKernel plain) {
#if HWY_ARCH_X86
  return N_AVX3_DL::amx_kernel(plain);
#else
  return plain;
#endif
}
}  // namespace mlxcel
#endif
