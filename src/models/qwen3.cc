// Qwen3, dense and mixture of experts: Llama with q and k normalized per head, head_dim of its own
// and no biases.
//
//   x = rms(h) * g1
//   h = h + Wo attend(rope(rms(Wq x) * gq), rope(rms(Wk x) * gk), Wv x)
//   x = rms(h) * g2
//   h = h + Wd (silu(Wg x) * Wu x)
//
// qwen3_moe: the last line becomes h = h + sum over the experts that a row chose, best first, of
// p[e] * Wd[e] (silu(Wg[e] x) * Wu[e] x), with p = softmax(Wr x); in every decoder_sparse_step-th
// layer that mlp_only_layers does not name.
//
// Source: Qwen Team 2025; Hugging Face's config.json keys. Checked against mlx-lm:
// tests/golden/qwen3, qwen3_moe.
#include <algorithm>
#include <vector>

#include "base/cat.h"
#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2, q_norm, k_norm;
  Attention attention;
  Mlp mlp;
  Matrix router;
  ExpertStack experts;  // empty: a dense layer
};

struct Mixture {
  int64_t experts = 0, ffn = 0;  // 0: a dense model
  ExpertSpec spec;
  std::vector<bool> sparse;  // [layers]
};

class Qwen3 final : public Family {
 public:
  Qwen3(const Decoder& d, Rope rope, Mixture mixture = {})
      : d_(d), rope_(std::move(rope)), mixture_(std::move(mixture)), layers_(d.layers) {
    facts_ = {d.vocab, d.dim, d.layers, d.context, {kv_group(d, d.layers)}};
    for (int64_t i = 0; i < d.layers && mixture_.experts > 0; i++) {
      if (!mixture_.sparse[i]) continue;
      facts_.experts = true;
      for (auto* stack :
           {&layers_[i].experts.gate, &layers_[i].experts.up, &layers_[i].experts.down})
        stack->resize(mixture_.experts);
    }
    attend_ = attend_spec(d, inverse_sqrt(static_cast<double>(d.head_dim)));
  }

  const FamilyFacts& facts() const override { return facts_; }

  void visit(WeightVisitor& w) override {
    visit_embedding(w, ends_, d_);
    for (int64_t i = 0; i < d_.layers; i++) {
      Layer& l = layers_[i];
      const LayerNames n(i);
      w.vector(l.norm1, d_.dim, {n.hf + "input_layernorm.weight", n.gguf + "attn_norm.weight"});
      visit_attention(w, l.attention, d_, n, {});
      w.vector(l.q_norm, d_.head_dim,
               {n.hf + "self_attn.q_norm.weight", n.gguf + "attn_q_norm.weight"});
      w.vector(l.k_norm, d_.head_dim,
               {n.hf + "self_attn.k_norm.weight", n.gguf + "attn_k_norm.weight"});
      w.vector(l.norm2, d_.dim,
               {n.hf + "post_attention_layernorm.weight", n.gguf + "ffn_norm.weight"});
      if (l.experts.gate.empty()) {
        visit_mlp(w, l.mlp, d_, n);
      } else {
        visit_experts(w, l, n);
      }
    }
    visit_head(w, ends_, d_);
  }

  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.embed(ends_.embed);  // [rows, dim]
    for (int64_t i = 0; i < d_.layers; i++) {
      const Scope scope(op);
      const Layer& l = layers_[i];
      const KvLayer at = {0, static_cast<int>(i)};
      const auto [q, k, v] = project_qkv(op, op.rms_norm(h, l.norm1, d_.eps), l.attention, d_, {});
      const Tensor rotated = op.rope_append(at, op.rms_norm(q, l.q_norm, d_.eps),
                                            op.rms_norm(k, l.k_norm, d_.eps), v, rope_);
      op.linear_add_to(h, op.attend(at, rotated, attend_), l.attention.o);
      const Tensor x = op.rms_norm(h, l.norm2, d_.eps);
      if (l.experts.gate.empty()) {
        op.linear_add_to(h, op.gated(x, l.mlp.gate, l.mlp.up, Activation::kSilu), l.mlp.down);
      } else {
        op.add_to(h, op.experts(x, op.linear(x, l.router), l.experts, mixture_.spec));
      }
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    return project_head(op, hidden, ends_, d_);
  }

 private:
  void visit_experts(WeightVisitor& w, Layer& l, const LayerNames& n) const {
    WeightSpec router = {n.hf + "mlp.gate.weight", n.gguf + "ffn_gate_inp.weight"};
    router.precise = true;
    w.matrix(l.router, mixture_.experts, d_.dim, router);
    const auto stack = [&](std::vector<Matrix>& all, int64_t out, int64_t in, const char* hf,
                           const char* gguf, Split split) {
      for (size_t e = 0; e < all.size(); e++) {
        WeightSpec spec = {cat(n.hf, "mlp.experts.", e, '.', hf), n.gguf + gguf, split};
        spec.expert = static_cast<int>(e), spec.experts = static_cast<int>(all.size());
        spec.stacked = cat(n.hf, "mlp.switch_mlp.", hf);
        w.matrix(all[e], out, in, spec);
      }
    };
    stack(l.experts.gate, mixture_.ffn, d_.dim, "gate_proj.weight", "ffn_gate_exps.weight",
          Split::kRows);
    stack(l.experts.up, mixture_.ffn, d_.dim, "up_proj.weight", "ffn_up_exps.weight", Split::kRows);
    stack(l.experts.down, d_.dim, mixture_.ffn, "down_proj.weight", "ffn_down_exps.weight",
          Split::kColumns);
  }

  Decoder d_;
  FamilyFacts facts_;
  Rope rope_;
  Mixture mixture_;
  AttendSpec attend_;
  std::vector<Layer> layers_;
  Ends ends_;
};

Result<Mixture> read_mixture(const Config& c, int64_t layers) {
  Mixture m;
  TRY(m.experts, c.integer("num_experts", 1, 4096));
  TRY(m.ffn, c.integer("moe_intermediate_size", 1, 1 << 24));
  TRY(const int64_t used, c.integer("num_experts_per_tok", 1, m.experts));
  TRY(m.spec.normalize, c.boolean_or("norm_topk_prob", false));
  m.spec.used = static_cast<int>(used);
  TRY(const int64_t step, c.integer_or("decoder_sparse_step", 1, 1));
  std::vector<int64_t> dense;
  if (c.has("mlp_only_layers")) {
    TRY(dense, c.integers("mlp_only_layers"));
  }
  m.sparse.reserve(layers);
  for (int64_t i = 0; i < layers; i++) {
    const bool named = std::find(dense.begin(), dense.end(), i) != dense.end();
    m.sparse.push_back(!named && (i + 1) % step == 0);
  }
  return m;
}

}  // namespace

Result<std::unique_ptr<Family>> make_qwen3_moe(const Config& c) {
  TRY(const Decoder d, read_decoder(c));
  TRY(Rope rope, read_rope(c, d.head_dim, d.context, "rope_theta", 1e6));
  TRY(Mixture mixture, read_mixture(c, d.layers));
  return std::unique_ptr<Family>(std::make_unique<Qwen3>(d, std::move(rope), std::move(mixture)));
}

Result<std::unique_ptr<Family>> make_qwen3(const Config& c) {
  TRY(const Decoder d, read_decoder(c));
  TRY(Rope rope, read_rope(c, d.head_dim, d.context, "rope_theta", 1e6));
  return std::unique_ptr<Family>(std::make_unique<Qwen3>(d, std::move(rope)));
}

}  // namespace mlxcel
