// Which instruction set the CPU kernels use. Every kernel gives equal bits on all of them.
//
// One choice per process, made once: the best that this CPU attains, or what MLXCEL_ISA or --isa
// names.
#pragma once

#include <span>
#include <string_view>

namespace mlxcel {

// kAvxVnni and kAmx differ from kAvx2 and kAvx512Vnni, kNeonDot and kNeonI8mm from kNeon, in the
// integer matmul alone.
enum class Isa { kAvx2, kAvxVnni, kAvx512, kAvx512Vnni, kAmx, kNeon, kNeonDot, kNeonI8mm };

const char* name(Isa isa);  // "avx2", "avx_vnni", ..., "neon_i8mm"

// What this CPU attains, worst first. Empty: it lacks AVX2, FMA and F16C, and nothing here runs on
// it.
std::span<const Isa> attainable_isas();

Isa current_isa();
// False if `isa` is not attainable; the choice is then unchanged. Not while kernels run.
bool set_isa(std::string_view name);

}  // namespace mlxcel
