// verify (evidence/verify.h) on this backend: tiny models of every weight format, a 1B shape,
// graphs and fused kernels on and off.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "evidence/verify.h"
#include "gpu_check.h"
#include "models/registry.h"
#include "ops/plain.h"
#include "weights/random.h"

namespace mlxcel {
namespace {

class Host final : public VerifyHost {
 public:
  Host(Family& family, Backend& backend, int64_t arena)
      : family_(family), backend_(backend), plain_(backend), arena_(arena) {}
  Result<std::unique_ptr<Engine>> open(const EngineOptions& options, bool plain) override {
    EngineOptions o = options;
    o.arena_elements = arena_;
    return Engine::create(family_, plain ? plain_ : backend_, o);
  }
  int64_t vocab() const override { return family_.facts().vocab; }
  std::vector<int> thread_counts() const override { return {}; }
  std::vector<std::string> isa_targets() const override { return {}; }
  void set_threads(int) override {}
  void set_isa(const std::string&) override {}
  int threads() const override { return 1; }
  std::string isa() const override { return backend_.info().isa; }
  std::vector<KernelUse> take_kernel_use() override { return backend_.take_kernel_use(); }

 private:
  Family& family_;
  Backend& backend_;
  PlainBackend plain_;
  int64_t arena_;
};

void verify_one(Report& report, const std::string& name, Family& family, Backend& backend,
                const VerifyOptions& options, int64_t arena) {
  Host host(family, backend, arena);
  int64_t bytes = 0;
  int cells = 0;
  const auto r = verify(host, options, [&](const VerifyCell& c) {
    bytes += c.bytes, cells++;
    if (c.differing > 0)
      report.fail("verify", cat(name, ": ", c.axis, " ", c.value, ": ", c.differing, " of ",
                                c.bytes, " bytes differ, first at ", c.first_difference));
  });
  if (!r) {
    report.fail("verify", name + ": " + r.error().message);
  } else if (r->equal()) {
    report.pass("verify", cat(name, ": ", cells, " cells, ", bytes, " bytes equal"));
  }
}

Config tiny_config(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  Config c("tiny");
  c.set("model_type", std::string("llama")), c.set("rms_norm_eps", 1e-6);
  c.set("hidden_size", int64_t{128}), c.set("num_hidden_layers", int64_t{2});
  c.set("num_attention_heads", heads), c.set("num_key_value_heads", kv_heads);
  c.set("head_dim", head_dim), c.set("intermediate_size", int64_t{192});
  c.set("vocab_size", int64_t{288}), c.set("max_position_embeddings", int64_t{4096});
  return c;
}

}  // namespace

void check_verify(Report& report) {
  struct Tiny {
    DType dtype;
    int64_t heads, kv_heads, head_dim;
  };
  for (const Tiny& t :
       {Tiny{DType::kQ4_1, 4, 2, 32}, Tiny{DType::kQ8_0, 6, 2, 64}, Tiny{DType::kBF16, 9, 3, 80},
        Tiny{DType::kF16, 4, 1, 128}, Tiny{DType::kQ4_0, 2, 1, 256}, Tiny{DType::kF32, 3, 3, 96}}) {
    const auto backend = open_backend();
    auto family = make_family(tiny_config(t.heads, t.kv_heads, t.head_dim));
    CHECK(family);
    CHECK(random_weights([&](WeightVisitor& w) { (*family)->visit(w); }, t.dtype, 3, *backend));
    verify_one(report, cat("tiny ", name(t.dtype), ", head size ", t.head_dim), **family, *backend,
               {.prompt_tokens = 140, .answer_tokens = 6, .combinations = 6}, 1 << 24);
  }
  const auto backend = open_backend();
  BigShape shape = kLlama1B;
  shape.format = CudaBackend::RandomFormat::kAffine4, shape.vocab = 4096;
  BigModel model = make_big(shape, *backend);
  verify_one(report, "1B shape, affine4", *model.family, *backend,
             {.prompt_tokens = 1100, .answer_tokens = 8, .combinations = 4}, int64_t{1} << 28);
}

}  // namespace mlxcel
