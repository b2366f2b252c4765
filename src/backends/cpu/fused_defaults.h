// Which fused ops of the CPU backend run fused where the environment does not say. `bench kernel
// fused_norm_rope` measures both ways: a ratio below 1.00 in the newest record of evidence/ turns
// the default off, and tests/fused_default_test.cc holds the two together.
#pragma once

namespace mlxcel {

inline constexpr bool kFusedRopeAppendDefault = true;  // MLXCEL_FUSED_ROPE_APPEND

}  // namespace mlxcel
