// Compiles a kernel's vector code once per instruction set and finds the compiled version at run
// time.
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/x/x_cpu.cc"
//   #include "kernels/targets.h"
//
//   MLXCEL_BEFORE_TARGET
//   namespace mlxcel::HWY_NAMESPACE {
//   namespace hn = hwy::HWY_NAMESPACE;
//   void x(const XArgs& a) { ... }
//   }  // namespace mlxcel::HWY_NAMESPACE
//   MLXCEL_AFTER_TARGET
//
//   #if HWY_ONCE
//   namespace mlxcel {
//   void x(const XArgs& a) { MLXCEL_DISPATCH(x)(a); }
//   }
//   #endif
//
// Only Highway's headers are used, none of its library: the choice is isa.h's. Highway 1.0.3's
// AVX3_DL target is where VNNI code lives; its own attribute list lacks avx512vnni, so it is added
// here. SSE targets are off (CMake): there MulAdd is not fused, which would change bits.

// No include guard: foreach_target.h includes the kernel once per target, and each time this file.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef MLXCEL_KERNELS_TARGETS_ONCE
#define MLXCEL_KERNELS_TARGETS_ONCE
#include "kernels/isa.h"

#if HWY_ARCH_X86
#define MLXCEL_DISPATCH(f)                                               \
  (::mlxcel::current_isa() >= ::mlxcel::Isa::kAvx512Vnni ? &N_AVX3_DL::f \
   : ::mlxcel::current_isa() == ::mlxcel::Isa::kAvx512   ? &N_AVX3::f    \
                                                         : &N_AVX2::f)
#else
#define MLXCEL_DISPATCH(f) (&N_NEON::f)
#endif
#endif

#undef MLXCEL_BEFORE_TARGET
#undef MLXCEL_AFTER_TARGET
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3_DL
#define MLXCEL_BEFORE_TARGET \
  HWY_BEFORE_NAMESPACE();    \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512vnni\")")
#define MLXCEL_AFTER_TARGET _Pragma("GCC pop_options") HWY_AFTER_NAMESPACE();
#else
#define MLXCEL_BEFORE_TARGET HWY_BEFORE_NAMESPACE();
#define MLXCEL_AFTER_TARGET HWY_AFTER_NAMESPACE();
#endif
