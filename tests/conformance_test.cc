#include "conformance.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

void expect_conformance(bool float_activations) {
  for (const int threads : {1, 3}) {
    auto cpu = make_cpu_backend({.threads = threads, .float_activations = float_activations});
    ASSERT_TRUE(cpu) << cpu.error().message;
    const auto ref = make_ref_backend({.kv_f16 = true, .act_int8 = !float_activations});
    for_each_isa([&](const char* isa) {
      for (const ConformanceFailure& f : Conformance(**cpu, *ref, {}).run()) {
        ADD_FAILURE() << isa << ", " << threads << " threads: " << f.op << ": " << f.what;
      }
    });
  }
}

TEST(Conformance, CpuWithInt8Activations) { expect_conformance(false); }
TEST(Conformance, CpuWithFloatActivations) { expect_conformance(true); }

// What a backend does differently must be found: here its roundings to int8, which this reference
// does not make.
TEST(Conformance, FindsAWrongOp) {
  auto cpu = make_cpu_backend({.threads = 1});
  ASSERT_TRUE(cpu);
  const auto ref = make_ref_backend({.kv_f16 = true});
  EXPECT_FALSE(Conformance(**cpu, *ref, {}).run().empty());
}

}  // namespace
}  // namespace mlxcel
