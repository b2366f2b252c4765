// A tiny Llama with random weights on the CPU backend: for tests that need a whole model and no
// file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/cpu.h"
#include "models/registry.h"
#include "weights/random.h"

namespace mlxcel {

struct TinyShape {
  int64_t dim = 64, layers = 2, heads = 4, kv_heads = 2, ffn = 96, vocab = 288, context = 4096;
  bool tied = false;
};

struct TinyModel {
  std::unique_ptr<CpuBackend> backend;
  std::unique_ptr<Family> family;
};

inline Config tiny_config(const TinyShape& s) {
  Config c("tiny");
  c.set("model_type", std::string("llama"));
  c.set("hidden_size", s.dim), c.set("num_hidden_layers", s.layers),
      c.set("num_attention_heads", s.heads);
  c.set("num_key_value_heads", s.kv_heads), c.set("intermediate_size", s.ffn),
      c.set("vocab_size", s.vocab);
  c.set("max_position_embeddings", s.context), c.set("tie_word_embeddings", s.tied);
  c.set("rms_norm_eps", 1e-6);
  return c;
}

// Gemma 2: layers with a window of 48 positions and full ones, capped scores and logits.
inline Config tiny_gemma2() {
  Config c = tiny_config({});
  c.set("model_type", std::string("gemma2"));
  c.set("head_dim", int64_t{16}), c.set("sliding_window", int64_t{48});
  c.set("attn_logit_softcapping", 5.0), c.set("final_logit_softcapping", 3.0);
  c.set("tie_word_embeddings", true);
  return c;
}

inline Result<TinyModel> make_tiny_of(const Config& config, RandomFormat format, uint64_t seed,
                                      const CpuOptions& options) {
  TinyModel m;
  TRY(m.backend, make_cpu_backend(options));
  TRY(m.family, make_family(config));
  TRY_OK(random_weights([&](WeightVisitor& w) { m.family->visit(w); }, format, seed, *m.backend));
  return m;
}

inline Result<TinyModel> make_tiny(const TinyShape& shape, RandomFormat format, uint64_t seed,
                                   const CpuOptions& options) {
  return make_tiny_of(tiny_config(shape), format, seed, options);
}

}  // namespace mlxcel
