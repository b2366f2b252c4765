// Gemma 2 and Gemma 3 (text): norms before and after each block, GELU gates, tied head, layers with
// a sliding window.
//
//   h = sqrt(dim) * embedding
//   h = h + rms(Wo attend(rope(Wq x), rope(Wk x), Wv x)) * g2,  x = rms(h) * g1
//   h = h + rms(Wd (gelu(Wg x) * Wu x)) * g4,                   x = rms(h) * g3
//   logits = E (rms(h) * g);  every gain g is 1 + the stored weight
//
// Gemma 2: scores and logits are soft-capped; every second layer has a window, the first one too.
// Gemma 3: q and k are normalized per head; five layers of six have a window and a rope base of
// their own, without rope_scaling.
//
// Source: Gemma Team 2024, 2025; Hugging Face's config.json keys. Checked against mlx-lm:
// tests/golden/gemma2, gemma3.
#include <cmath>
#include <vector>

#include "base/cat.h"
#include "base/half.h"
#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2, norm3, norm4, q_norm, k_norm;
  Attention attention;
  Mlp mlp;
  KvLayer at;  // group 0: full; group 1: window
};

struct GemmaConfig {
  Decoder decoder;
  bool three = false;
  float embedding_scale = 1, attention_scale = 1, attention_cap = 0, logit_cap = 0;
  int64_t window = 0;
  std::vector<bool> sliding;  // [layers]
  Rope full_rope, window_rope;
};

class Gemma final : public Family {
 public:
  explicit Gemma(GemmaConfig c) : c_(std::move(c)), d_(c_.decoder), layers_(d_.layers) {
    int counts[2] = {};
    for (int64_t i = 0; i < d_.layers; i++) {
      const int group = c_.sliding[i] ? 1 : 0;
      layers_[i].at = {group, counts[group]++};
    }
    facts_ = {d_.vocab,
              d_.dim,
              d_.layers,
              d_.context,
              {kv_group(d_, counts[0]), kv_group(d_, counts[1], c_.window)}};
    for (int g = 0; g < 2; g++) {
      attend_[g] = attend_spec(d_, c_.attention_scale, g == 1 ? c_.window : 0);
      attend_[g].softcap = c_.attention_cap;
    }
  }

  const FamilyFacts& facts() const override { return facts_; }

  void visit(WeightVisitor& w) override {
    visit_embedding(w, ends_, d_);
    for (int64_t i = 0; i < d_.layers; i++) {
      Layer& l = layers_[i];
      const LayerNames n(i);
      const auto norm = [&](Vector& v, int64_t size, const char* hf, const char* gguf) {
        w.vector(v, size, {n.hf + hf, n.gguf + gguf, Split::kNone, 0, 1});
      };
      norm(l.norm1, d_.dim, "input_layernorm.weight", "attn_norm.weight");
      visit_attention(w, l.attention, d_, n, {});
      if (c_.three) {
        norm(l.q_norm, d_.head_dim, "self_attn.q_norm.weight", "attn_q_norm.weight");
        norm(l.k_norm, d_.head_dim, "self_attn.k_norm.weight", "attn_k_norm.weight");
      }
      norm(l.norm2, d_.dim, "post_attention_layernorm.weight", "post_attention_norm.weight");
      norm(l.norm3, d_.dim, "pre_feedforward_layernorm.weight", "ffn_norm.weight");
      visit_mlp(w, l.mlp, d_, n);
      norm(l.norm4, d_.dim, "post_feedforward_layernorm.weight", "post_ffw_norm.weight");
    }
    visit_head(w, ends_, d_, 1);
  }

  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.scale(op.embed(ends_.embed), c_.embedding_scale);  // [rows, dim]
    for (const Layer& l : layers_) {
      const Scope scope(op);
      op.add_to(h, op.rms_norm(attention(op, l, op.rms_norm(h, l.norm1, d_.eps)), l.norm2, d_.eps));
      const Tensor x =
          op.gated(op.rms_norm(h, l.norm3, d_.eps), l.mlp.gate, l.mlp.up, Activation::kGeluTanh);
      op.add_to(h, op.rms_norm(op.linear(x, l.mlp.down), l.norm4, d_.eps));
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    const Tensor logits = project_head(op, hidden, ends_, d_);
    return c_.logit_cap > 0 ? op.softcap(logits, c_.logit_cap) : logits;
  }

 private:
  Tensor attention(Ops& op, const Layer& l, const Tensor& x) const {
    auto [q, k, v] = project_qkv(op, x, l.attention, d_, {});
    if (c_.three) q = op.rms_norm(q, l.q_norm, d_.eps), k = op.rms_norm(k, l.k_norm, d_.eps);
    const Rope& rope = l.at.group == 1 ? c_.window_rope : c_.full_rope;
    return op.linear(op.attend(l.at, op.rope_append(l.at, q, k, v, rope), attend_[l.at.group]),
                     l.attention.o);
  }

  GemmaConfig c_;
  Decoder d_;
  FamilyFacts facts_;
  AttendSpec attend_[2];
  std::vector<Layer> layers_;
  Ends ends_;
};

// layer_types says it layer by layer; without it, the last of every `pattern` layers is full.
Result<std::vector<bool>> read_sliding(const Config& c, int64_t layers, int64_t pattern) {
  std::vector<bool> sliding(layers);
  if (!c.has("layer_types")) {
    TRY(pattern, c.integer_or("sliding_window_pattern", pattern, 1));
    for (int64_t i = 0; i < layers; i++) sliding[i] = (i + 1) % pattern != 0;
    return sliding;
  }
  TRY(const std::vector<std::string> types, c.strings("layer_types"));
  if (static_cast<int64_t>(types.size()) != layers)
    return c.wrong("layer_types", cat(layers, " values"), cat(types.size()));
  for (int64_t i = 0; i < layers; i++) {
    sliding[i] = types[i] == "sliding_attention";
    if (!sliding[i] && types[i] != "full_attention") {
      return c.wrong("layer_types", "full_attention or sliding_attention", types[i]);
    }
  }
  return sliding;
}

Result<GemmaConfig> read_gemma(const Config& c, bool three) {
  GemmaConfig g;
  g.three = three;
  TRY(g.decoder, read_decoder(c, {.tied = true, .gelu = true, .windows = true}));
  const Decoder& d = g.decoder;
  TRY(const double scalar, c.number_or("query_pre_attn_scalar", static_cast<double>(d.head_dim)));
  if (!(scalar > 0)) return c.wrong("query_pre_attn_scalar", "a positive number", cat(scalar));
  g.attention_scale = inverse_sqrt(scalar);
  g.embedding_scale = std::sqrt(static_cast<float>(d.dim));
  if (three)
    g.embedding_scale =
        bf16_to_f32(f32_to_bf16(g.embedding_scale));  // as the published model computes it
  TRY(const double attention_cap, c.number_or("attn_logit_softcapping", three ? 0 : 50));
  TRY(const double logit_cap, c.number_or("final_logit_softcapping", three ? 0 : 30));
  for (const double cap : {attention_cap, logit_cap}) {
    if (!(cap >= 0 && cap < 1e30))
      return c.wrong("softcapping", "numbers of at least 0 (0: none)", cat(cap));
  }
  g.attention_cap = static_cast<float>(attention_cap), g.logit_cap = static_cast<float>(logit_cap);
  TRY(g.window, c.integer_or("sliding_window", three ? 512 : 4096, 1, 1 << 27));
  TRY(g.sliding, read_sliding(c, d.layers, three ? 6 : 2));
  TRY(g.full_rope, read_rope(c, d.head_dim, d.context, "rope_theta", three ? 1e6 : 1e4));
  g.window_rope = g.full_rope;
  if (three) {
    TRY(g.window_rope, read_rope(c, d.head_dim, d.context, "rope_local_base_freq", 1e4, false));
  }
  return g;
}

}  // namespace

Result<std::unique_ptr<Family>> make_gemma2(const Config& config) {
  TRY(GemmaConfig c, read_gemma(config, false));
  return std::unique_ptr<Family>(std::make_unique<Gemma>(std::move(c)));
}

Result<std::unique_ptr<Family>> make_gemma3(const Config& config) {
  TRY(GemmaConfig c, read_gemma(config, true));
  return std::unique_ptr<Family>(std::make_unique<Gemma>(std::move(c)));
}

}  // namespace mlxcel
