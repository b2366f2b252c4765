#include "models/blocks.h"

#include <array>
#include <cmath>

#include "base/cat.h"

namespace mlxcel {

namespace {

// Keys that would change what is computed: what this family does not do is refused, not ignored.
Status check_traits(const Config& c, const DecoderTraits& traits) {
  for (const char* key : {"hidden_act", "hidden_activation"}) {
    TRY(const std::string found, c.string_or(key, ""));
    const bool silu = found == "silu" || found == "swish",
               gelu = found == "gelu_pytorch_tanh" || found == "gelu";
    if (!found.empty() && !(traits.gelu ? gelu : silu))
      return c.wrong(key, traits.gelu ? "gelu_pytorch_tanh" : "silu", cat('"', found, '"'));
  }
  if (!traits.partial_rotary) {
    TRY(const double part, c.number_or("partial_rotary_factor", 1));
    if (part != 1) return c.wrong("partial_rotary_factor", "1 in this family", cat(part));
  }
  if (!traits.windows && c.has("layer_types")) {
    TRY(const std::vector<std::string> types, c.strings("layer_types"));
    for (const std::string& type : types)
      if (type != "full_attention")
        return c.wrong("layer_types", "full_attention in this family", cat('"', type, '"'));
  }
  // Qwen's switch: with it, layers from max_window_layers on see only a window.
  TRY(const bool some, c.boolean_or("use_sliding_window", false));
  if (!traits.windows && some) {
    TRY(const int64_t layers, c.integer("num_hidden_layers"));
    TRY(const int64_t full, c.integer_or("max_window_layers", layers));
    TRY(const int64_t context, c.integer("max_position_embeddings"));
    TRY(const int64_t window, c.integer_or("sliding_window", context));
    if (full < layers && window < context)
      return c.wrong("use_sliding_window", "false in this family", "true");
  }
  return Ok{};
}

}  // namespace

Result<Decoder> read_decoder(const Config& c, const DecoderTraits& traits) {
  TRY_OK(check_traits(c, traits));
  constexpr int64_t kMost = 1 << 24;  // any size; products of two stay far below 2^63
  Decoder d;
  TRY(d.dim, c.integer("hidden_size", 1, kMost));
  TRY(d.layers, c.integer("num_hidden_layers", 1, 4096));
  TRY(d.heads, c.integer("num_attention_heads", 1, 65536));
  TRY(d.kv_heads, c.integer_or("num_key_value_heads", d.heads, 1, 65536));
  TRY(d.head_dim, c.integer_or("head_dim", d.dim / d.heads, 2, 1024));
  TRY(d.ffn, c.integer("intermediate_size", 1, kMost));
  TRY(d.vocab, c.integer("vocab_size", 1, kMost));
  TRY(d.context, c.integer("max_position_embeddings", 1, 1 << 27));
  TRY(const double eps, c.number("rms_norm_eps"));
  TRY(d.tied, c.boolean_or("tie_word_embeddings", traits.tied));
  d.eps = static_cast<float>(eps);
  if (!(eps >= 0 && eps < 1)) return c.wrong("rms_norm_eps", "a number from 0 to 1", cat(eps));
  if (d.heads % d.kv_heads != 0) {
    return c.wrong("num_key_value_heads", cat("a divisor of num_attention_heads = ", d.heads),
                   cat(d.kv_heads));
  }
  if (d.head_dim < 2 || d.head_dim > 1024 || d.head_dim % 2 != 0)
    return c.wrong("head_dim", "an even number from 2 to 1024", cat(d.head_dim));
  return d;
}

KvGroup kv_group(const Decoder& d, int64_t layers, int64_t window) {
  const int head_dim = static_cast<int>(d.head_dim);
  return {.kind = window > 0 ? KvGroup::Kind::kWindow : KvGroup::Kind::kFull,
          .window = static_cast<int>(window),
          .layers = static_cast<int>(layers),
          .kv_heads = static_cast<int>(d.kv_heads),
          .key_dim = head_dim,
          .value_dim = head_dim};
}

AttendSpec attend_spec(const Decoder& d, float scale, int64_t window) {
  return {.heads = static_cast<int>(d.heads),
          .kv_heads = static_cast<int>(d.kv_heads),
          .head_dim = static_cast<int>(d.head_dim),
          .scale = scale,
          .window = static_cast<int>(window)};
}

float inverse_sqrt(double x) { return static_cast<float>(1 / std::sqrt(x)); }

LayerNames::LayerNames(int64_t i) : hf(cat("model.layers.", i, ".")), gguf(cat("blk.", i, ".")) {}

void visit_attention(WeightVisitor& w, Attention& a, const Decoder& d, const LayerNames& n,
                     const AttentionWeights& has) {
  const int q_heads = has.permuted ? static_cast<int>(d.heads) : 0,
            k_heads = has.permuted ? static_cast<int>(d.kv_heads) : 0;
  const std::string hf = n.hf + "self_attn.";
  w.matrix(a.q, d.q_size(), d.dim,
           {hf + "q_proj.weight", n.gguf + "attn_q.weight", Split::kRows, q_heads});
  w.matrix(a.k, d.kv_size(), d.dim,
           {hf + "k_proj.weight", n.gguf + "attn_k.weight", Split::kRows, k_heads});
  w.matrix(a.v, d.kv_size(), d.dim, {hf + "v_proj.weight", n.gguf + "attn_v.weight", Split::kRows});
  w.matrix(a.o, d.dim, d.q_size(),
           {hf + "o_proj.weight", n.gguf + "attn_output.weight", Split::kColumns});
  if (has.qkv_bias) {
    w.vector(a.q_bias, d.q_size(),
             {hf + "q_proj.bias", n.gguf + "attn_q.bias", Split::kRows, q_heads});
    w.vector(a.k_bias, d.kv_size(),
             {hf + "k_proj.bias", n.gguf + "attn_k.bias", Split::kRows, k_heads});
    w.vector(a.v_bias, d.kv_size(), {hf + "v_proj.bias", n.gguf + "attn_v.bias", Split::kRows});
  }
  if (has.o_bias) w.vector(a.o_bias, d.dim, {hf + "o_proj.bias", n.gguf + "attn_output.bias"});
}

std::array<Tensor, 3> project_qkv(Ops& op, const Tensor& x, const Attention& a, const Decoder& d,
                                  const AttentionWeights& has) {
  std::array<Tensor, 3> y;
  const Matrix* w[] = {&a.q, &a.k, &a.v};
  const Vector* bias[] = {&a.q_bias, &a.k_bias, &a.v_bias};
  op.linears(x, w,
             has.qkv_bias ? std::span<const Vector* const>(bias) : std::span<const Vector* const>(),
             y);
  const int64_t heads[] = {d.heads, d.kv_heads, d.kv_heads};
  for (int i = 0; i < 3; i++) y[i] = y[i].reshape({x.shape.rows(), heads[i], d.head_dim});
  return y;
}

void visit_mlp(WeightVisitor& w, Mlp& m, const Decoder& d, const LayerNames& n) {
  w.matrix(m.gate, d.ffn, d.dim,
           {n.hf + "mlp.gate_proj.weight", n.gguf + "ffn_gate.weight", Split::kRows});
  w.matrix(m.up, d.ffn, d.dim,
           {n.hf + "mlp.up_proj.weight", n.gguf + "ffn_up.weight", Split::kRows});
  w.matrix(m.down, d.dim, d.ffn,
           {n.hf + "mlp.down_proj.weight", n.gguf + "ffn_down.weight", Split::kColumns});
}

void visit_embedding(WeightVisitor& w, Ends& e, const Decoder& d) {
  w.matrix(e.embed, d.vocab, d.dim, {"model.embed_tokens.weight", "token_embd.weight"});
}

void visit_head(WeightVisitor& w, Ends& e, const Decoder& d, float norm_plus) {
  w.vector(e.norm, d.dim, {"model.norm.weight", "output_norm.weight", Split::kNone, 0, norm_plus});
  if (!d.tied) w.matrix(e.head, d.vocab, d.dim, {"lm_head.weight", "output.weight", Split::kRows});
}

Tensor project_head(Ops& op, const Tensor& hidden, const Ends& e, const Decoder& d) {
  return op.linear(op.rms_norm(hidden, e.norm, d.eps), d.tied ? e.embed : e.head);
}

}  // namespace mlxcel
