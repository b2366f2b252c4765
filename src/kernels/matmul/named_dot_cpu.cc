// Matmul of all one-level formats by a dot instruction that a CPU may have beside Highway's AVX2 or
// NEON: AVX-VNNI's vpdpbusd, NEON's sdot. Compiled once, for that target alone.
#include "kernels/matmul/kernels.h"

#include "hwy/highway.h"
#define MLXCEL_BEFORE_TARGET HWY_BEFORE_NAMESPACE();
#define MLXCEL_AFTER_TARGET HWY_AFTER_NAMESPACE();

#include "kernels/matmul/one_level-inl.h"

static_assert(HWY_TARGET == (HWY_ARCH_X86 ? HWY_AVX2 : HWY_NEON));

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace {
template <Code code, bool bias, int offset>
void run(const MatmulArgs& a) {
  one_level<OneLevel<code, bias, offset, DotBy::kNamed>>(a);
}
}  // namespace

MatmulKernel named_dot_kernel(MatmulKernel plain) {
  if (plain == matmul_u2) return run<Code::kU2, true, 0>;
  if (plain == matmul_u3) return run<Code::kU3, true, 0>;
  if (plain == matmul_u4) return run<Code::kU4, true, 0>;
  if (plain == matmul_u5) return run<Code::kU5, true, 0>;
  if (plain == matmul_u6) return run<Code::kU6, true, 0>;
  if (plain == matmul_u8) return run<Code::kU8, true, 0>;
  if (plain == matmul_q4_0) return run<Code::kU4, false, 8>;
  if (plain == matmul_q5_0) return run<Code::kU5, false, 16>;
  if (plain == matmul_q8_0) return run<Code::kU8, false, 128>;
  if (plain == matmul_mxfp4) return run<Code::kE2M1, false, 0>;
  if (plain == matmul_iq4_nl) return run<Code::kNL4, false, 0>;
  return plain;
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

namespace mlxcel {
MatmulKernel named_dot_kernel(MatmulKernel plain) { return HWY_NAMESPACE::named_dot_kernel(plain); }
}  // namespace mlxcel
