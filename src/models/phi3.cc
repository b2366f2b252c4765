// Phi-3 and Phi-4: Llama with q, k and v in one matrix, gate and up in another, rope over part of
// each head.
//
//   x = rms(h) * g1;  [q k v] = Wqkv x
//   h = h + Wo attend(rope(q), rope(k), v)
//   x = rms(h) * g2;  [g u] = Wgu x
//   h = h + Wd (silu(g) * u)
//
// Source: Abdin et al. 2024; Hugging Face's config.json keys. Checked against mlx-lm:
// tests/golden/phi3.
#include <vector>

#include "base/cat.h"
#include "models/blocks.h"

namespace mlxcel {
namespace {

struct Layer {
  Vector norm1, norm2;
  Matrix qkv, o, gate_up, down;
};

class Phi3 final : public Family {
 public:
  Phi3(const Decoder& d, Rope rope, int64_t window)
      : d_(d), rope_(std::move(rope)), layers_(d.layers) {
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
      w.matrix(l.qkv, d_.q_size() + 2 * d_.kv_size(), d_.dim,
               {n.hf + "self_attn.qkv_proj.weight", n.gguf + "attn_qkv.weight"});
      w.matrix(l.o, d_.dim, d_.q_size(),
               {n.hf + "self_attn.o_proj.weight", n.gguf + "attn_output.weight", Split::kColumns});
      w.vector(l.norm2, d_.dim,
               {n.hf + "post_attention_layernorm.weight", n.gguf + "ffn_norm.weight"});
      w.matrix(l.gate_up, 2 * d_.ffn, d_.dim,
               {n.hf + "mlp.gate_up_proj.weight", n.gguf + "ffn_up.weight"});
      w.matrix(l.down, d_.dim, d_.ffn,
               {n.hf + "mlp.down_proj.weight", n.gguf + "ffn_down.weight", Split::kColumns});
    }
    visit_head(w, ends_, d_);
  }

  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.embed(ends_.embed);  // [rows, dim]
    for (int64_t i = 0; i < d_.layers; i++) {
      const Scope scope(op);
      const Layer& l = layers_[i];
      const KvLayer at = {0, static_cast<int>(i)};
      const Tensor qkv = op.linear(op.rms_norm(h, l.norm1, d_.eps), l.qkv);
      const Tensor q = part(op, qkv, 0, d_.heads), k = part(op, qkv, d_.heads, d_.kv_heads);
      const Tensor v = part(op, qkv, d_.heads + d_.kv_heads, d_.kv_heads);
      op.linear_add_to(h, op.attend(at, op.rope_append(at, q, k, v, rope_), attend_), l.o);
      const Tensor gu = op.linear(op.rms_norm(h, l.norm2, d_.eps), l.gate_up);
      const Tensor gate = op.activate(op.columns(gu, 0, d_.ffn), Activation::kSilu);
      op.linear_add_to(h, op.mul(gate, op.columns(gu, d_.ffn, d_.ffn)), l.down);
    }
    return h;
  }

  Tensor head(Ops& op, const Tensor& hidden) const override {
    return project_head(op, hidden, ends_, d_);
  }

 private:
  // Heads [first, first + count) of the fused projection. [rows, count, head_dim]
  Tensor part(Ops& op, const Tensor& qkv, int64_t first, int64_t count) const {
    return op.columns(qkv, first * d_.head_dim, count * d_.head_dim)
        .reshape({qkv.shape.rows(), count, d_.head_dim});
  }

  Decoder d_;
  FamilyFacts facts_;
  Rope rope_;
  AttendSpec attend_;
  std::vector<Layer> layers_;
  Ends ends_;
};

}  // namespace

Result<std::unique_ptr<Family>> make_phi3(const Config& c) {
  TRY(const Decoder d, read_decoder(c, {.partial_rotary = true}));
  TRY(const double part, c.number_or("partial_rotary_factor", 1));
  const int64_t dims = static_cast<int64_t>(static_cast<double>(d.head_dim) * part);
  if (dims < 2 || dims > d.head_dim || dims % 2 != 0) {
    return c.wrong("partial_rotary_factor", cat("an even share of head_dim = ", d.head_dim),
                   cat(part));
  }
  TRY(Rope rope, read_rope(c, dims, d.context));
  TRY(const int64_t window, c.integer_or("sliding_window", 0, 0, 1 << 27));
  return std::unique_ptr<Family>(
      std::make_unique<Phi3>(d, std::move(rope), window < d.context ? window : 0));
}

}  // namespace mlxcel
