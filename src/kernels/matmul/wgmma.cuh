// Hopper's own instructions that the matmul uses: wgmma with weights in registers, mbarriers, bulk
// copies.
#pragma once

#include "kernels/cuda/device.cuh"

namespace mlxcel::gpu {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

MLXCEL_DEVICE void bar_init(uint32_t b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n) : "memory");
}
MLXCEL_DEVICE void bars_ready() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}
MLXCEL_DEVICE void bar_arrive(uint32_t b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b) : "memory");
}
MLXCEL_DEVICE void bar_wait(uint32_t b, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nW%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra W%=;\n}" ::"r"(b),
      "r"(parity)
      : "memory");
}
MLXCEL_DEVICE void copy_bulk(uint32_t to, const void* from, int bytes, uint32_t bar) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(bar)
      : "memory");
}

// The same for what is read once: it leaves L2 first.
MLXCEL_DEVICE void copy_bulk_once(uint32_t to, const void* from, int bytes, uint32_t bar) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], "
      "%2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(bar), "l"(policy)
      : "memory");
}

MLXCEL_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLXCEL_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int n>
MLXCEL_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}
// Core matrices of 8 rows x 8 k, without swizzle: 16 * rows bytes apart along k, 128 along rows.
MLXCEL_DEVICE uint64_t rows_descriptor(uint32_t at, int rows) {
  return static_cast<uint64_t>((at & 0x3ffff) >> 4) | static_cast<uint64_t>(rows) << 16 |
         static_cast<uint64_t>(128 >> 4) << 32;
}

// d [64 outputs, rows] += a [64, 16 k] * rows [16 k, rows] at `at` in shared memory.
template <int rows>
MLXCEL_DEVICE void wgmma(float (&d)[rows / 8][4], const uint32_t* a, uint32_t at);

#define MLXCEL_D4(i) "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
template <>
MLXCEL_DEVICE void wgmma<16>(float (&d)[2][4], const uint32_t* a, uint32_t at) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7},"
      "{%8,%9,%10,%11}, %12, p, 1, 1, 0;\n}"
      : MLXCEL_D4(0), MLXCEL_D4(1)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rows_descriptor(at, 16)));
}
template <>
MLXCEL_DEVICE void wgmma<32>(float (&d)[4][4], const uint32_t* a, uint32_t at) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
      "},{%16,%17,%18,%19}, %20, p, 1, 1, 0;\n}"
      : MLXCEL_D4(0), MLXCEL_D4(1), MLXCEL_D4(2), MLXCEL_D4(3)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rows_descriptor(at, 32)));
}
template <>
MLXCEL_DEVICE void wgmma<64>(float (&d)[8][4], const uint32_t* a, uint32_t at) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23,%24,%25,%26,%27,%28,%29,%30,%31"
      "},{%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}"
      : MLXCEL_D4(0), MLXCEL_D4(1), MLXCEL_D4(2), MLXCEL_D4(3), MLXCEL_D4(4), MLXCEL_D4(5),
        MLXCEL_D4(6), MLXCEL_D4(7)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rows_descriptor(at, 64)));
}
template <>
MLXCEL_DEVICE void wgmma<128>(float (&d)[16][4], const uint32_t* a, uint32_t at) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,"
      "%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
      "},{%64,%65,%66,%67}, %68, p, 1, 1, 0;\n}"
      : MLXCEL_D4(0), MLXCEL_D4(1), MLXCEL_D4(2), MLXCEL_D4(3), MLXCEL_D4(4), MLXCEL_D4(5),
        MLXCEL_D4(6), MLXCEL_D4(7), MLXCEL_D4(8), MLXCEL_D4(9), MLXCEL_D4(10), MLXCEL_D4(11),
        MLXCEL_D4(12), MLXCEL_D4(13), MLXCEL_D4(14), MLXCEL_D4(15)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rows_descriptor(at, 128)));
}
#undef MLXCEL_D4

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace mlxcel::gpu
