#!/usr/bin/env python3
"""Writes tests/golden/llama: tiny random Llama checkpoints and the logits that mlx-lm gives for them.

  tools/golden/run make_llama.py            # sets up Python, then runs this file
  tools/golden/run make_llama.py --check    # writes nothing; fails if a stored file would differ

A case is made from its seed alone. Its weights are rounded by the format under test and expanded to f32 again;
mlx-lm computes the logits from those floats, in f32 on the CPU. A second model, written here in numpy with doubles,
computes them too; the largest difference between the two is stored as the oracle's own error.
The file formats are described in tests/golden/README.md.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import gguf
import mlx.core as mx
import numpy as np
from gguf import GGMLQuantizationType as Q
from gguf.quants import dequantize, quantize
from mlx_lm.models.llama import Model, ModelArgs

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "llama"

# name: container, weight type, seed, (layers, dim, heads, kv heads, head dim, ffn, vocab), theta, tied, ids
CASES = {
    "gguf_f32_tied": ("gguf", "F32", 1, (2, 64, 4, 2, 16, 96, 131), 1e4, True, 150),
    "gguf_f32_odd": ("gguf", "F32", 2, (2, 48, 2, 1, 24, 172, 97), 5e5, False, 150),
    "gguf_f16": ("gguf", "F16", 3, (2, 64, 4, 4, 16, 172, 131), 1e5, False, 150),
    "gguf_bf16": ("gguf", "BF16", 4, (2, 64, 8, 2, 8, 96, 101), 1e4, True, 150),
    "gguf_q8_0": ("gguf", "Q8_0", 5, (2, 64, 4, 2, 16, 96, 131), 1e4, True, 150),
    "gguf_q4_0": ("gguf", "Q4_0", 6, (2, 64, 3, 3, 32, 160, 107), 1e4, False, 150),
    "gguf_q4_1": ("gguf", "Q4_1", 7, (3, 96, 4, 1, 24, 160, 131), 1e5, True, 200),
    "hf_f32_tied": ("hf", "F32", 8, (2, 64, 4, 2, 16, 96, 131), 1e4, True, 150),
    "hf_f16_odd": ("hf", "F16", 9, (2, 48, 2, 1, 24, 172, 97), 5e5, False, 150),
    "hf_bf16": ("hf", "BF16", 10, (2, 64, 4, 4, 16, 172, 131), 1e4, False, 150),
}
EPS = 1e-5
GGUF_NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
              "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def shapes(layers, dim, heads, kv_heads, head_dim, ffn, vocab, tied):
    """Name -> shape, as Hugging Face spells them."""
    q, kv = heads * head_dim, kv_heads * head_dim
    s = {"model.embed_tokens.weight": (vocab, dim)}
    for i in range(layers):
        p = f"model.layers.{i}."
        s |= {p + "input_layernorm.weight": (dim,), p + "self_attn.q_proj.weight": (q, dim),
              p + "self_attn.k_proj.weight": (kv, dim), p + "self_attn.v_proj.weight": (kv, dim),
              p + "self_attn.o_proj.weight": (dim, q), p + "post_attention_layernorm.weight": (dim,),
              p + "mlp.gate_proj.weight": (ffn, dim), p + "mlp.up_proj.weight": (ffn, dim),
              p + "mlp.down_proj.weight": (dim, ffn)}
    s["model.norm.weight"] = (dim,)
    if not tied:
        s["lm_head.weight"] = (vocab, dim)
    return s


def random_weights(rng, wanted):
    """Gains near 1; matrices sized so that attention is sharp and logits are a few units wide."""
    return {name: (1 + 0.2 * rng.standard_normal(shape) if len(shape) == 1 else
                   1.5 * rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32)
            for name, shape in wanted.items()}


def permute(w, heads):
    """GGUF's row order for q and k: a head's halves (i, i + head_dim / 2) become neighbours (2i, 2i + 1)."""
    return np.ascontiguousarray(w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape))


def write_gguf(path, weights, shape, theta, kind):
    """Writes the file; gives back the weights as the file's readers must see them, in f32."""
    layers, dim, heads, kv_heads, head_dim, ffn, vocab = shape
    w = gguf.GGUFWriter(path, "llama")
    w.add_context_length(512)
    w.add_embedding_length(dim)
    w.add_block_count(layers)
    w.add_feed_forward_length(ffn)
    w.add_head_count(heads)
    w.add_head_count_kv(kv_heads)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_layer_norm_rms_eps(EPS)
    w.add_rope_freq_base(theta)
    w.add_rope_dimension_count(head_dim)
    w.add_vocab_size(vocab)
    w.add_tokenizer_model("no_vocab")
    seen = {}
    for name, x in weights.items():
        if len(x.shape) == 1:
            seen[name], raw, qtype = x, x, Q.F32
        else:
            qtype = Q[kind]
            raw = quantize(x, qtype)
            seen[name] = dequantize(raw, qtype).reshape(x.shape)
            # Rows are quantized one by one, so permuting codes permutes weights.
            if "q_proj" in name:
                raw = permute(raw, heads)
            if "k_proj" in name:
                raw = permute(raw, kv_heads)
        w.add_tensor(gguf_name(name), raw, raw_dtype=None if qtype in (Q.F32, Q.F16) else qtype)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return seen


def gguf_name(name):
    top = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
           "lm_head.weight": "output.weight"}
    if name in top:
        return top[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[rest.removesuffix('.weight')]}.weight"


def write_hf(folder, weights, shape, theta, tied, kind):
    layers, dim, heads, kv_heads, head_dim, ffn, vocab = shape
    dtype = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}[kind]
    stored = {name: mx.array(x).astype(dtype) for name, x in weights.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), stored, metadata={"format": "pt"})
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": dim,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
              "head_dim": head_dim, "intermediate_size": ffn, "vocab_size": vocab, "max_position_embeddings": 512,
              "rms_norm_eps": EPS, "rope_theta": theta, "hidden_act": "silu", "tie_word_embeddings": tied,
              "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[kind]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return {name: np.array(x.astype(mx.float32)) for name, x in stored.items()}


def mlx_logits(weights, shape, theta, tied, ids):
    layers, dim, heads, kv_heads, head_dim, ffn, vocab = shape
    m = Model(ModelArgs(model_type="llama", hidden_size=dim, num_hidden_layers=layers, intermediate_size=ffn,
                        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim, rms_norm_eps=EPS,
                        vocab_size=vocab, rope_theta=theta, tie_word_embeddings=tied))
    m.load_weights([(name, mx.array(x)) for name, x in weights.items()])
    return np.array(m(mx.array(ids)[None])[0].astype(mx.float32))


def double_logits(weights, shape, theta, tied, ids):
    """The same model from its equations, in doubles: tells how far off mlx-lm's f32 is."""
    layers, dim, heads, kv_heads, head_dim, ffn, vocab = shape
    w = {name: x.astype(np.float64) for name, x in weights.items()}
    n, half = len(ids), head_dim // 2

    def rms(x, g):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * g

    angle = np.arange(n)[:, None] * theta ** (-np.arange(half) / half)  # [n, half]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def rope(x):  # [n, heads, head_dim]
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    h = w["model.embed_tokens.weight"][ids]
    mask = np.triu(np.full((n, n), -np.inf), 1)
    for i in range(layers):
        p = f"model.layers.{i}."
        x = rms(h, w[p + "input_layernorm.weight"])
        q, k, v = ((x @ w[p + f"self_attn.{c}_proj.weight"].T).reshape(n, -1, head_dim) for c in "qkv")
        q, k = rope(q), rope(k)
        k, v = (np.repeat(y, heads // kv_heads, axis=1) for y in (k, v))
        s = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(head_dim) + mask
        e = np.exp(s - s.max(-1, keepdims=True))
        a = np.einsum("hij,jhd->ihd", e / e.sum(-1, keepdims=True), v).reshape(n, -1)
        h = h + a @ w[p + "self_attn.o_proj.weight"].T
        x = rms(h, w[p + "post_attention_layernorm.weight"])
        g = x @ w[p + "mlp.gate_proj.weight"].T
        h = h + (g / (1 + np.exp(-g)) * (x @ w[p + "mlp.up_proj.weight"].T)) @ w[p + "mlp.down_proj.weight"].T
    return rms(h, w["model.norm.weight"]) @ w["model.embed_tokens.weight" if tied else "lm_head.weight"].T


def make(name, folder):
    container, kind, seed, shape, theta, tied, n = CASES[name]
    rng = np.random.default_rng(seed)
    weights = random_weights(rng, shapes(*shape, tied))
    ids = rng.integers(0, shape[-1], n).astype(np.int32)
    if container == "gguf":
        model, seen = "model.gguf", write_gguf(folder / "model.gguf", weights, shape, theta, kind)
    else:
        model, seen = ".", write_hf(folder, weights, shape, theta, tied, kind)
    logits, truth = mlx_logits(seen, shape, theta, tied, ids), double_logits(seen, shape, theta, tied, ids)
    error = float(np.abs(logits - truth).max())
    if error > 1e-3 * np.abs(truth).max():
        sys.exit(f"{name}: mlx-lm and the double model differ by {error}")
    ids.astype("<i4").tofile(folder / "ids.i32")
    logits.astype("<f4").tofile(folder / "logits.f32")
    (folder / "case.json").write_text(json.dumps({
        "model": model, "weights": kind, "seed": seed, "positions": n, "vocab": shape[-1],
        "max_abs_logit": float(np.abs(truth).max()), "oracle": f"mlx-lm {version('mlx-lm')}, mlx {version('mlx')}, f32, CPU",
        "oracle_max_abs_error": error}, indent=2) + "\n")
    return error


def version(package):
    import importlib.metadata
    return importlib.metadata.version(package)


def check(name, folder):
    """Weights and ids are equal to the byte; logits may differ by the oracle's own error on another machine."""
    stored = ROOT / name
    for f in sorted(folder.iterdir()):
        old = stored / f.name
        if f.name == "logits.f32":
            a, b = np.fromfile(f, "<f4"), np.fromfile(old, "<f4")
            same = a.shape == b.shape and np.abs(a - b).max() <= 4 * json.loads((stored / "case.json").read_text())["oracle_max_abs_error"]
        else:
            same = f.name == "case.json" or f.read_bytes() == old.read_bytes()
        if not same:
            sys.exit(f"{old}: differs from what its seed gives")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--check", action="store_true")
    ap.add_argument("case", nargs="*", help="only these cases")
    a = ap.parse_args()
    mx.set_default_device(mx.cpu)
    for name in a.case or CASES:
        if a.check:
            with tempfile.TemporaryDirectory() as t:
                error = make(name, pathlib.Path(t))
                check(name, pathlib.Path(t))
        else:
            (ROOT / name).mkdir(parents=True, exist_ok=True)
            error = make(name, ROOT / name)
        print(f"{name}: mlx-lm is within {error:.2e} of the double model")


if __name__ == "__main__":
    main()
