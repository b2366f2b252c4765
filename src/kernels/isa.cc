#include "kernels/isa.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <atomic>
#include <cstdlib>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/check.h"

namespace mlxcel {
namespace {

#if defined(__x86_64__)
// __builtin_cpu_supports() of clang 14 knows neither "f16c" nor "avxvnni".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool has_avx_vnni() {  // leaf 7, subleaf 1, EAX bit 4
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}
// Leaf 7, EDX bits 24 (tiles) and 25 (int8). The system must also grant the tiles' state to this
// process; its threads, now and later, then have it too.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d >> 24 & 3) != 3) return false;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

#if defined(__x86_64__)
// Highway's target of the VNNI kernels lets the compiler use these too. Cascade Lake and Cooper
// Lake have VNNI without them.
bool has_what_avx3_dl_is_compiled_for() {
  return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("vaes") && __builtin_cpu_supports("vpclmulqdq");
}
#endif

std::vector<Isa> detect() {
#if defined(__x86_64__)
  std::vector<Isa> isas;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c() ||
      !__builtin_cpu_supports("bmi2")) {
    return isas;
  }
  isas.push_back(Isa::kAvx2);
  if (has_avx_vnni()) isas.push_back(Isa::kAvxVnni);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw")) {
    return isas;
  }
  isas.push_back(Isa::kAvx512);
  if (!__builtin_cpu_supports("avx512vnni") || !has_what_avx3_dl_is_compiled_for()) return isas;
  isas.push_back(Isa::kAvx512Vnni);
  if (has_amx()) isas.push_back(Isa::kAmx);
  return isas;
#elif defined(__aarch64__)
  std::vector<Isa> isas = {Isa::kNeon};
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) == 0) return isas;
  isas.push_back(Isa::kNeonDot);
  constexpr unsigned long kI8mm = 1ul << 13;  // HWCAP2_I8MM, which older headers lack
  if ((getauxval(AT_HWCAP2) & kI8mm) != 0) isas.push_back(Isa::kNeonI8mm);
  return isas;
#else
  return {};
#endif
}

const std::vector<Isa>& detected() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

Isa best() {
  CHECK(!detected().empty());  // cli asks attainable_isas() before anything else
  return detected().back();
}

std::atomic<Isa>& choice() {
  static std::atomic<Isa> isa = best();
  return isa;
}

}  // namespace

const char* name(Isa isa) {
  switch (isa) {
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvxVnni:
      return "avx_vnni";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
    case Isa::kAmx:
      return "amx";
    case Isa::kNeon:
      return "neon";
    case Isa::kNeonDot:
      return "neon_dot";
    case Isa::kNeonI8mm:
      return "neon_i8mm";
  }
  return "unknown";
}

std::span<const Isa> attainable_isas() { return detected(); }

Isa current_isa() { return choice().load(std::memory_order_relaxed); }

bool set_isa(std::string_view wanted) {
  for (const Isa isa : detected()) {
    if (wanted == name(isa)) {
      choice().store(isa, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace mlxcel
