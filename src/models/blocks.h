// What most decoders share: the keys of their config, their rope, and the weights of attention and
// MLP, as functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "models/family.h"

namespace mlxcel {

// The common keys of config.json, checked.
struct Decoder {
  int64_t dim, layers, heads, kv_heads, head_dim, ffn, vocab, context;
  float eps;
  bool tied;

  int64_t q_size() const { return heads * head_dim; }
  int64_t kv_size() const { return kv_heads * head_dim; }
};

// What differs between families in these keys.
struct DecoderTraits {
  bool tied = false;            // what tie_word_embeddings defaults to
  bool gelu = false;            // the MLP's activation; else SiLU
  bool partial_rotary = false;  // partial_rotary_factor is read elsewhere; else heads rotate whole
  bool windows = false;         // layer_types is read elsewhere; else every layer is alike
};
Result<Decoder> read_decoder(const Config& c, const DecoderTraits& traits = {});

// The rope that rope_theta and rope_scaling describe, over `dims` of each head: none, linear,
// dynamic, llama3, yarn and longrope. `theta_key` names the base's key; `scaled` is false where a
// layer kind ignores rope_scaling.
Result<Rope> read_rope(const Config& c, int64_t dims, int64_t context,
                       const char* theta_key = "rope_theta", double theta = 10000,
                       bool scaled = true);

// One KV group over all layers: full, or a window if that is above 0.
KvGroup kv_group(const Decoder& d, int64_t layers, int64_t window = 0);
AttendSpec attend_spec(const Decoder& d, float scale, int64_t window = 0);
float inverse_sqrt(double x);

// Names of layer `i`: Hugging Face's and GGUF's prefix.
struct LayerNames {
  explicit LayerNames(int64_t i);
  std::string hf, gguf;
};

struct Attention {
  Matrix q, k, v, o;
  Vector q_bias, k_bias, v_bias, o_bias;
};
struct AttentionWeights {
  bool qkv_bias = false, o_bias = false;
  bool permuted = false;  // llama-type GGUF stores rows of q and k interleaved
};
void visit_attention(WeightVisitor& w, Attention& a, const Decoder& d, const LayerNames& n,
                     const AttentionWeights& has);
// q, k, v of x with their biases. [rows, heads or kv_heads, head_dim] each
std::array<Tensor, 3> project_qkv(Ops& op, const Tensor& x, const Attention& a, const Decoder& d,
                                  const AttentionWeights& has);

struct Mlp {
  Matrix gate, up, down;
};
void visit_mlp(WeightVisitor& w, Mlp& m, const Decoder& d, const LayerNames& n);

struct Ends {
  Matrix embed, head;  // the head is empty if it is tied
  Vector norm;
};
void visit_embedding(WeightVisitor& w, Ends& e, const Decoder& d);
void visit_head(WeightVisitor& w, Ends& e, const Decoder& d, float norm_plus = 0);
// logits of rms(hidden)
Tensor project_head(Ops& op, const Tensor& hidden, const Ends& e, const Decoder& d);

}  // namespace mlxcel
