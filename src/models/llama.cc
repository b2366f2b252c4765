// Llama: pre-norm decoder; grouped-query attention with rotary positions; SwiGLU.
//
//   x = rms(h) * g1
//   h = h + Wo attend(rope(Wq x), rope(Wk x), Wv x)
//   x = rms(h) * g2
//   h = h + Wd (silu(Wg x) * Wu x)
//   logits = Wh (rms(h) * g),  Wh = the embedding table if tied
//
// Variants by model_type: mistral sees a window of positions if sliding_window says so; smollm3
// leaves rope out in some layers; qwen2 has biases on q, k and v.
//
// Source: Touvron et al. 2023; Hugging Face's config.json keys. Checked against mlx-lm:
// tests/golden/llama, qwen2, smollm3.
#include <vector>

#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2;
  Attention attention;
  Mlp mlp;
  bool rope = true;
};

class Llama final : public Family {
 public:
  Llama(const Decoder& d, const AttentionWeights& has, Rope rope, int64_t window,
        std::vector<Layer> layers)
      : d_(d), has_(has), rope_(std::move(rope)), layers_(std::move(layers)) {
    facts_ = {d.vocab, d.dim, d.layers, d.context, {kv_group(d, d.layers, window)}};
    attend_ = attend_spec(d, inverse_sqrt(static_cast<double>(d.head_dim)), window);
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
    Tensor h = op.embed(ends_.embed);  // [rows, dim]
    for (int64_t i = 0; i < d_.layers; i++) {
      const Scope scope(op);
      const Layer& l = layers_[i];
      attention(op, {0, static_cast<int>(i)}, l, h);
      const Tensor x = op.rms_norm(h, l.norm2, d_.eps);
      op.linear_add_to(h, op.gated(x, l.mlp.gate, l.mlp.up, Activation::kSilu), l.mlp.down);
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    return project_head(op, hidden, ends_, d_);
  }

 private:
  void attention(Ops& op, KvLayer at, const Layer& l, Tensor& h) const {
    auto [q, k, v] = project_qkv(op, op.rms_norm(h, l.norm1, d_.eps), l.attention, d_, has_);
    if (l.rope) {
      q = op.rope_append(at, q, k, v, rope_);
    } else {
      op.append(at, k, v);
    }
    op.linear_add_to(h, op.attend(at, q, attend_), l.attention.o,
                     has_.o_bias ? &l.attention.o_bias : nullptr);
  }

  Decoder d_;
  AttentionWeights has_;
  FamilyFacts facts_;
  Rope rope_;
  AttendSpec attend_;
  std::vector<Layer> layers_;
  Ends ends_;
};

// Which layers of a smollm3 use rope: no_rope_layers says 1 for those that do; by default every
// fourth does not.
Status read_no_rope(const Config& c, std::vector<Layer>& layers) {
  TRY(const int64_t interval, c.integer_or("no_rope_layer_interval", 4, 1));
  std::vector<int64_t> uses;
  if (c.has("no_rope_layers")) {
    TRY(uses, c.integers("no_rope_layers"));
    if (uses.size() != layers.size()) {
      return c.wrong("no_rope_layers", std::to_string(layers.size()) + " values",
                     std::to_string(uses.size()));
    }
  }
  for (size_t i = 0; i < layers.size(); i++) {
    layers[i].rope = uses.empty() ? (static_cast<int64_t>(i) + 1) % interval != 0 : uses[i] != 0;
  }
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<Family>> make_llama(const Config& c) {
  TRY(const Decoder d, read_decoder(c));
  TRY(const std::string type, c.string("model_type"));
  TRY(Rope rope,
      read_rope(c, d.head_dim, d.context, "rope_theta", type == "smollm3" ? 2e6 : 10000));
  AttentionWeights has;
  has.permuted = type != "qwen2";  // in GGUF
  TRY(const bool bias, c.boolean_or("attention_bias", false));
  has.qkv_bias = bias || type == "qwen2", has.o_bias = bias && type != "qwen2";
  std::vector<Layer> layers(d.layers);
  if (type == "smollm3") TRY_OK(read_no_rope(c, layers));
  int64_t window = 0;
  if (type == "mistral" && c.has("sliding_window")) {
    TRY(window, c.integer("sliding_window", 1, 1 << 27));
  }
  return std::unique_ptr<Family>(
      std::make_unique<Llama>(d, has, std::move(rope), window, std::move(layers)));
}

}  // namespace mlxcel
