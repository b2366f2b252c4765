// verify finds nothing on a sound backend and each planted fault on a broken one.
#include "evidence/verify.h"

#include <gtest/gtest.h>

#include "engine/faulty_testing.h"
#include "kernels/isa.h"
#include "ops/plain.h"
#include "tiny_model.h"

namespace mlxcel {
namespace {

using testing::Faulty;
using testing::RealFault;

class Host final : public VerifyHost {
 public:
  Host(TinyModel& model, RealFault fault)
      : model_(model), faulty_(*model.backend, fault), plain_(faulty_) {}

  Result<std::unique_ptr<Engine>> open(const EngineOptions& options, bool plain) override {
    EngineOptions o = options;
    o.arena_elements = 1 << 22;
    return Engine::create(*model_.family, plain ? plain_ : static_cast<Backend&>(faulty_), o);
  }
  int64_t vocab() const override { return model_.family->facts().vocab; }
  std::vector<int> thread_counts() const override { return {1, 2, 3}; }
  std::vector<std::string> isa_targets() const override {
    std::vector<std::string> names;
    for (const Isa isa : attainable_isas()) names.push_back(name(isa));
    return names;
  }
  void set_threads(int threads) override {
    if (threads != this->threads()) model_.backend->set_threads(threads);
  }
  void set_isa(const std::string& isa) override { mlxcel::set_isa(isa); }
  int threads() const override { return model_.backend->info().threads; }
  std::string isa() const override { return model_.backend->info().isa; }
  std::vector<KernelUse> take_kernel_use() override { return model_.backend->take_kernel_use(); }

 private:
  TinyModel& model_;
  Faulty faulty_;
  PlainBackend plain_;
};

// One thread, so that the thread axis has something to differ from.
VerifyReport report(RealFault fault, const Config& config = tiny_config({})) {
  auto model = make_tiny_of(config, DType::kQ4_1, 3, {.threads = 1});
  CHECK(model);
  Host host(*model, fault);
  auto r = verify(host, {.prompt_tokens = 140, .answer_tokens = 6, .combinations = 6});
  EXPECT_TRUE(r) << r.error().message;
  return r ? *r : VerifyReport();
}

int64_t differing(const VerifyReport& r, const std::string& axis) {
  int64_t n = 0;
  for (const VerifyCell& c : r.cells) n += c.axis == axis ? c.differing : 0;
  return n;
}

void expect_sound(const VerifyReport& r) {
  EXPECT_TRUE(r.equal());
  for (const VerifyCell& c : r.cells) {
    EXPECT_GT(c.bytes, 0) << c.axis << " " << c.value;
    EXPECT_EQ(c.differing, 0) << c.axis << " " << c.value << ": " << c.first_difference;
    EXPECT_FALSE(c.kernels.empty());
  }
}

TEST(Verify, FindsNothingOnASoundBackend) { expect_sound(report(RealFault::kNone)); }

// Windows that free pages, capped scores and logits, a tied head.
TEST(Verify, FindsNothingWithWindows) { expect_sound(report(RealFault::kNone, tiny_gemma2())); }

TEST(Verify, FindsAReductionThatDependsOnTheRowCount) {
  const VerifyReport r = report(RealFault::kReductionByRows);
  EXPECT_FALSE(r.equal());
  EXPECT_GT(differing(r, "width"), 0);
  EXPECT_GT(differing(r, "chunk"), 0);
}

TEST(Verify, FindsAReductionThatDependsOnTheThreadCount) {
  const VerifyReport r = report(RealFault::kReductionByThreads);
  EXPECT_FALSE(r.equal());
  EXPECT_GT(differing(r, "threads"), 0);
  EXPECT_EQ(differing(r, "batch"), 0);
}

TEST(Verify, FindsAFusedOpThatIsNotItsDefinition) {
  const VerifyReport r = report(RealFault::kFusedOps);
  EXPECT_FALSE(r.equal());
  EXPECT_GT(differing(r, "fused ops"), 0);
  EXPECT_EQ(differing(r, "batch"), 0);
}

TEST(Verify, FindsANeighboursKvRead) {
  const VerifyReport r = report(RealFault::kNeighboursPage);
  EXPECT_FALSE(r.equal());
  EXPECT_GT(differing(r, "batch"), 0);
  EXPECT_EQ(differing(r, "width"), 0);
}

}  // namespace
}  // namespace mlxcel
