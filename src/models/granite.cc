// Granite (dense): Llama with constant multipliers on embedding, attention, residual branches and
// logits.
//
//   h = m_e * embedding
//   h = h + m_r * Wo attend(rope(Wq x), rope(Wk x), Wv x),  scores times m_a,  x = rms(h) * g1
//   h = h + m_r * Wd (silu(Wg x) * Wu x),                   x = rms(h) * g2
//   logits = Wh (rms(h) * g) / m_l
//
// Source: IBM 2024; Hugging Face's config.json keys. Checked against mlx-lm: tests/golden/granite.
#include <vector>

#include "base/cat.h"
#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2;
  Attention attention;
  Mlp mlp;
};

struct Multipliers {
  float embedding, attention, residual, logits;
};

class Granite final : public Family {
 public:
  Granite(const Decoder& d, const AttentionWeights& has, const Multipliers& m, Rope rope)
      : d_(d), has_(has), m_(m), rope_(std::move(rope)), layers_(d.layers) {
    facts_ = {d.vocab, d.dim, d.layers, d.context, {kv_group(d, d.layers)}};
    attend_ = attend_spec(d, m.attention);
  }

  const FamilyFacts& facts() const override { return facts_; }

  void visit(WeightVisitor& w) override {
    visit_embedding(w, ends_, d_);
    for (int64_t i = 0; i < d_.layers; i++) {
      Layer& l = layers_[i];
      const LayerNames n(i);
      w.vector(l.norm1, d_.dim, {n.hf + "input_layernorm.weight", n.gguf + "attn_norm.weight"});
      visit_attention(w, l.attention, d_, n, has_);
      w.vector(l.norm2, d_.dim,
               {n.hf + "post_attention_layernorm.weight", n.gguf + "ffn_norm.weight"});
      visit_mlp(w, l.mlp, d_, n);
    }
    visit_head(w, ends_, d_);
  }

  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.scale(op.embed(ends_.embed), m_.embedding);  // [rows, dim]
    for (int64_t i = 0; i < d_.layers; i++) {
      const Scope scope(op);
      const Layer& l = layers_[i];
      const KvLayer at = {0, static_cast<int>(i)};
      const auto [q, k, v] =
          project_qkv(op, op.rms_norm(h, l.norm1, d_.eps), l.attention, d_, has_);
      const Tensor a = op.attend(at, op.rope_append(at, q, k, v, rope_), attend_);
      op.add_to(h,
                op.scale(op.linear(a, l.attention.o, has_.o_bias ? &l.attention.o_bias : nullptr),
                         m_.residual));
      const Tensor x =
          op.gated(op.rms_norm(h, l.norm2, d_.eps), l.mlp.gate, l.mlp.up, Activation::kSilu);
      op.add_to(h, op.scale(op.linear(x, l.mlp.down), m_.residual));
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    return op.scale(project_head(op, hidden, ends_, d_), 1 / m_.logits);
  }

 private:
  Decoder d_;
  AttentionWeights has_;
  Multipliers m_;
  FamilyFacts facts_;
  Rope rope_;
  AttendSpec attend_;
  std::vector<Layer> layers_;
  Ends ends_;
};

}  // namespace

Result<std::unique_ptr<Family>> make_granite(const Config& c) {
  TRY(const Decoder d, read_decoder(c, {.tied = true}));
  Multipliers m = {};
  const std::pair<const char*, float*> keys[] = {{"embedding_multiplier", &m.embedding},
                                                 {"attention_multiplier", &m.attention},
                                                 {"residual_multiplier", &m.residual},
                                                 {"logits_scaling", &m.logits}};
  for (const auto& [key, to] : keys) {
    TRY(const double value, c.number_or(key, 1));
    if (!(value > 0 && value < 1e30)) return c.wrong(key, "a positive number", cat(value));
    *to = static_cast<float>(value);
  }
  TRY(Rope rope, read_rope(c, d.head_dim, d.context));
  TRY(const bool bias, c.boolean_or("attention_bias", false));
  const AttentionWeights has = {.qkv_bias = bias, .o_bias = bias, .permuted = true};
  return std::unique_ptr<Family>(std::make_unique<Granite>(d, has, m, std::move(rope)));
}

}  // namespace mlxcel
