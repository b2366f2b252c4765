// OLMo 2: norms after each block instead of before; q and k are normalized over all heads together.
//
//   h = h + rms(Wo attend(rope(rms(Wq h) * gq), rope(rms(Wk h) * gk), Wv h)) * g1
//   h = h + rms(Wd (silu(Wg h) * Wu h)) * g2
//
// Source: OLMo Team 2024; Hugging Face's config.json keys. Checked against mlx-lm:
// tests/golden/olmo2.
#include <vector>

#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2, q_norm, k_norm;
  Attention attention;
  Mlp mlp;
};

class Olmo2 final : public Family {
 public:
  Olmo2(const Decoder& d, Rope rope) : d_(d), rope_(std::move(rope)), layers_(d.layers) {
    facts_ = {d.vocab, d.dim, d.layers, d.context, {kv_group(d, d.layers)}};
    attend_ = attend_spec(d, inverse_sqrt(static_cast<double>(d.head_dim)));
  }

  const FamilyFacts& facts() const override { return facts_; }

  void visit(WeightVisitor& w) override {
    visit_embedding(w, ends_, d_);
    for (int64_t i = 0; i < d_.layers; i++) {
      Layer& l = layers_[i];
      const LayerNames n(i);
      visit_attention(w, l.attention, d_, n, {});
      w.vector(l.q_norm, d_.q_size(),
               {n.hf + "self_attn.q_norm.weight", n.gguf + "attn_q_norm.weight"});
      w.vector(l.k_norm, d_.kv_size(),
               {n.hf + "self_attn.k_norm.weight", n.gguf + "attn_k_norm.weight"});
      w.vector(l.norm1, d_.dim,
               {n.hf + "post_attention_layernorm.weight", n.gguf + "post_attention_norm.weight"});
      visit_mlp(w, l.mlp, d_, n);
      w.vector(l.norm2, d_.dim,
               {n.hf + "post_feedforward_layernorm.weight", n.gguf + "post_ffw_norm.weight"});
    }
    visit_head(w, ends_, d_);
  }

  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.embed(ends_.embed);  // [rows, dim]
    for (int64_t i = 0; i < d_.layers; i++) {
      const Scope scope(op);
      const Layer& l = layers_[i];
      op.add_to(h, op.rms_norm(attention(op, {0, static_cast<int>(i)}, l, h), l.norm1, d_.eps));
      const Tensor x = op.gated(h, l.mlp.gate, l.mlp.up, Activation::kSilu);
      op.add_to(h, op.rms_norm(op.linear(x, l.mlp.down), l.norm2, d_.eps));
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    return project_head(op, hidden, ends_, d_);
  }

 private:
  Tensor attention(Ops& op, KvLayer at, const Layer& l, const Tensor& h) const {
    const auto [q, k, v] = project_qkv(op, h, l.attention, d_, {});
    const int64_t rows = h.shape.rows();
    const auto norm = [&](const Tensor& x, const Vector& gain) {
      return op.rms_norm(x.reshape({rows, gain.size}), gain, d_.eps).reshape(x.shape);
    };
    return op.linear(
        op.attend(at, op.rope_append(at, norm(q, l.q_norm), norm(k, l.k_norm), v, rope_), attend_),
        l.attention.o);
  }

  Decoder d_;
  FamilyFacts facts_;
  Rope rope_;
  AttendSpec attend_;
  std::vector<Layer> layers_;
  Ends ends_;
};

}  // namespace

Result<std::unique_ptr<Family>> make_olmo2(const Config& c) {
  TRY(const Decoder d, read_decoder(c));
  TRY(Rope rope, read_rope(c, d.head_dim, d.context));
  return std::unique_ptr<Family>(std::make_unique<Olmo2>(d, std::move(rope)));
}

}  // namespace mlxcel
