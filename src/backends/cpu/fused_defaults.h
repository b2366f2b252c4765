// Which fused ops of the CPU backend run fused where the environment does not say. `bench kernel
// fused_norm_rope` measures both ways: on only where the newest publishable record of evidence/ has
// a ratio of 1.00 or more, and tests/fused_default_test.cc holds the two together.
#pragma once

namespace mlxcel {

inline constexpr bool kFusedRopeAppendDefault = false;  // MLXCEL_FUSED_ROPE_APPEND

}  // namespace mlxcel
