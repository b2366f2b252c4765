#!/usr/bin/env python3
"""Writes tests/golden/<family>: tiny random checkpoints of every family but llama, and the logits that mlx-lm gives.

  tools/golden/run make_families.py            # sets up Python, then runs this file
  tools/golden/run make_families.py --check    # writes nothing; fails if a stored file would differ

A case is a config and a seed. mlx-lm's own model of the family is filled with random weights, saved in Hugging Face's or
MLX's layout, and run in f32 on the CPU; in f64 too, which tells how far off f32 is (the oracle's own error).
Configs put every threshold inside the tested length: windows, original_max_position_embeddings, both bands of a scaled
rope. The file formats are described in tests/golden/README.md.
"""
import argparse
import importlib
import json
import pathlib
import sys
import tempfile
from importlib.metadata import version

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models.base import create_causal_mask

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
LENGTH = 150
COMMON = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 96, "vocab_size": 131, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": False}
GEMMA = {"head_dim": 32, "num_hidden_layers": 4, "rms_norm_eps": 1e-6, "tie_word_embeddings": True}
GRANITE = {"embedding_multiplier": 3.0, "attention_multiplier": 0.11, "residual_multiplier": 0.4, "logits_scaling": 2.5,
           "attention_bias": False, "mlp_bias": False}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
FACTORS = [1.0 + 0.3 * i for i in range(8)]  # of 16 rope dims
MOE = {"head_dim": 32, "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "decoder_sparse_step": 1,
       "mlp_only_layers": [], "norm_topk_prob": True}
LONG = {"type": "longrope", "long_factor": FACTORS, "short_factor": [1.0] * 8}

# family/case: model_type, config, quantization (bits, group) or None
CASES = {
    "llama/llama3_rope": ("llama", {"rope_scaling": LLAMA3}, None),
    "llama/linear_rope": ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, None),
    "llama/bias": ("llama", {"attention_bias": True}, None),
    "llama/affine4": ("llama", {"num_attention_heads": 8, "num_key_value_heads": 2}, (4, 32)),
    "llama/affine8": ("llama", {}, (8, 64)),
    "qwen2/f32": ("qwen2", {"tie_word_embeddings": True}, None),
    "qwen2/affine4": ("qwen2", {}, (4, 64)),
    "qwen3/f32": ("qwen3", {"head_dim": 32}, None),
    "qwen3/yarn": ("qwen3", {"head_dim": 32, "rope_scaling": YARN}, None),
    "qwen3/affine4": ("qwen3", {"head_dim": 32, "tie_word_embeddings": True}, (4, 32)),
    "gemma2/f32": ("gemma2", GEMMA | {"query_pre_attn_scalar": 50.0, "attn_logit_softcapping": 5.0,
                                      "final_logit_softcapping": 4.0, "sliding_window": 400}, None),
    "gemma3/f32": ("gemma3_text", GEMMA | {"query_pre_attn_scalar": 40.0, "sliding_window": 37,
                                           "sliding_window_pattern": 2, "rope_local_base_freq": 500.0}, None),
    "gemma3/linear": ("gemma3_text", GEMMA | {"query_pre_attn_scalar": 32.0, "sliding_window": 70, "num_hidden_layers": 3,
                                              "sliding_window_pattern": 3, "rope_local_base_freq": 10000.0,
                                              "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, None),
    "gemma3/affine8": ("gemma3_text", GEMMA | {"query_pre_attn_scalar": 32.0, "sliding_window": 64,
                                               "sliding_window_pattern": 2, "rope_local_base_freq": 10000.0}, (8, 32)),
    "phi3/f32": ("phi3", {}, None),
    "phi3/longrope": ("phi3", {"rope_scaling": LONG, "original_max_position_embeddings": 64}, None),
    "phi3/partial": ("phi3", {"partial_rotary_factor": 0.5}, None),
    "granite/f32": ("granite", GRANITE | {"tie_word_embeddings": True}, None),
    "granite/affine4": ("granite", GRANITE, (4, 32)),
    "olmo2/f32": ("olmo2", {}, None),
    "olmo2/affine6": ("olmo2", {}, (6, 32)),
    "smollm3/f32": ("smollm3", {"num_hidden_layers": 5, "tie_word_embeddings": True}, None),
    "smollm3/listed": ("smollm3", {"num_hidden_layers": 3, "no_rope_layers": [0, 1, 1]}, None),
    "qwen3_moe/f32": ("qwen3_moe", MOE, None),
    "qwen3_moe/mixed": ("qwen3_moe", MOE | {"num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [3],
                                            "norm_topk_prob": False, "num_experts": 5, "num_experts_per_tok": 2}, None),
    "qwen3_moe/affine4": ("qwen3_moe", MOE | {"num_experts_per_tok": 1, "tie_word_embeddings": True}, (4, 32)),
    "gemma2/window": ("gemma2", GEMMA | {"query_pre_attn_scalar": 32.0, "attn_logit_softcapping": 5.0,
                                         "final_logit_softcapping": 4.0, "sliding_window": 40}, None),
    "llama/mxfp4": ("llama", {}, (4, 32, "mxfp4")),
    "llama/mxfp8": ("llama", {}, (8, 32, "mxfp8")),
    "llama/nvfp4": ("llama", {}, (4, 16, "nvfp4")),
    "llama/fp8": ("llama", {}, "fp8"),
}


def build(kind, config):
    module = importlib.import_module("mlx_lm.models." + kind)
    model = module.Model(module.ModelArgs.from_dict(config))
    if kind == "gemma3_text" and config["tie_word_embeddings"]:
        model.sanitize({})  # drops the head, as loading a checkpoint without one does
    if kind == "gemma2" and config["sliding_window"] < LENGTH:
        for i in range(0, len(model.layers), 2):
            model.layers[i] = Windowed(model.layers[i], config["sliding_window"])
    return model


class Windowed(nn.Module):
    """A layer of Gemma 2 that sees a window: mlx-lm leaves that out, so that it holds only for texts within it."""

    def __init__(self, layer, window):
        super().__init__()
        self.layer, self.window = layer, window

    def __call__(self, x, mask=None, cache=None):
        return self.layer(x, create_causal_mask(x.shape[1], window_size=self.window), cache)


def fill(model, rng, gemma):
    """Gains near 1, small biases, matrices sized so that attention is sharp and logits are a few units wide."""
    def value(name, x):
        if len(x.shape) > 1:
            return 1.5 * rng.standard_normal(x.shape) / np.sqrt(x.shape[1])
        if name.endswith("bias"):
            return 0.3 * rng.standard_normal(x.shape)
        return 0.2 * rng.standard_normal(x.shape) + (0 if gemma else 1)
    filled = [(n, mx.array(value(n, x).astype(np.float32))) for n, x in tree_flatten(model.parameters())]
    model.update(tree_unflatten(filled))


def logits(model, ids):
    return np.array(model(mx.array(ids)[None])[0])


def make(name, folder):
    kind, extra, quantization = CASES[name]
    seed = 100 + list(CASES).index(name)
    config = {"model_type": kind, **COMMON, **extra}
    rng = np.random.default_rng(seed)
    model = build(kind, config)
    fill(model, rng, kind.startswith("gemma"))
    ids = rng.integers(0, config["vocab_size"], LENGTH).astype(np.int32)
    weights = "F32"
    if quantization == "fp8":
        return make_fp8(name, folder, seed, config, model, ids)
    if quantization:
        bits, group, mode = (*quantization, "affine")[:3]
        nn.quantize(model, group, bits, mode=mode,
                    class_predicate=lambda _, m: hasattr(m, "to_quantized") and m.weight.shape[-1] % group == 0)
        config["quantization"] = {"bits": bits, "group_size": group} | ({} if mode == "affine" else {"mode": mode})
        weights = f"affine{bits}g{group}" if mode == "affine" else mode
    stored = {n.replace(".layer.", "."): x for n, x in tree_flatten(model.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), stored, metadata={"format": "mlx"})
    return finish(name, folder, seed, config, expanded(model, stored, config), weights, ids)


def finish(name, folder, seed, config, seen, weights, ids):
    """Runs the model on the weights that a file's reader sees, and writes everything but the weights."""
    kind = config["model_type"]
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    got = logits(filled_from(kind, config, seen, mx.float32), ids)
    with mx.stream(mx.cpu):
        truth = logits(filled_from(kind, config, seen, mx.float64), ids)
    error = float(np.abs(got - truth).max())
    if error > 1e-3 * np.abs(truth).max():
        sys.exit(f"{name}: f32 and f64 differ by {error}")
    ids.astype("<i4").tofile(folder / "ids.i32")
    got.astype("<f4").tofile(folder / "logits.f32")
    (folder / "case.json").write_text(json.dumps({
        "model": ".", "weights": weights, "seed": seed, "positions": LENGTH, "vocab": config["vocab_size"],
        "max_abs_logit": float(np.abs(truth).max()),
        "oracle": f"mlx-lm {version('mlx-lm')}, mlx {version('mlx')}, f32, CPU", "oracle_max_abs_error": error},
        indent=2) + "\n")
    return error


def make_fp8(name, folder, seed, config, model, ids):
    """Hugging Face's fp8: e4m3 codes, an f32 scale for each block of 32 x 32; w = scale * code in f32."""
    block, parts, seen = 32, {}, {}
    for n, x in tree_flatten(model.parameters()):
        if len(x.shape) < 2 or "embed" in n or "lm_head" in n:
            parts[n] = ("F32", list(x.shape), np.array(x).tobytes())
            seen[n] = x
            continue
        out, cols = x.shape
        blocks = np.array(x).reshape(out // block, block, cols // block, block)
        scales = (np.abs(blocks).max((1, 3)) / 448).astype(np.float32)
        codes = mx.to_fp8(mx.array((blocks / scales[:, None, :, None]).reshape(out, cols)))
        parts[n] = ("F8_E4M3", [out, cols], np.array(codes).tobytes())
        parts[n + "_scale_inv"] = ("F32", list(scales.shape), scales.tobytes())
        values = np.array(mx.from_fp8(codes, mx.float32)).reshape(blocks.shape) * scales[:, None, :, None]
        seen[n] = mx.array(values.reshape(out, cols).astype(np.float32))
    header, at = {}, 0
    for n, (dtype, shape, data) in parts.items():
        header[n] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(d for _, _, d in parts.values()))
    config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [block, block], "activation_scheme": "dynamic"}
    return finish(name, folder, seed, config, seen, "fp8", ids)


def expanded(model, stored, config):
    """The stored weights as floats: quantized ones expanded."""
    q = config.get("quantization")
    out = {}
    for name, x in stored.items():
        if name.endswith((".scales", ".biases")):
            continue
        stem = name.removesuffix("weight")
        if stem + "scales" in stored:
            x = mx.dequantize(x, stored[stem + "scales"], stored.get(stem + "biases"), q["group_size"], q["bits"], q.get("mode", "affine"))
        out[name] = x.astype(mx.float32)
    return out


def filled_from(kind, config, weights, dtype):
    model = build(kind, {k: v for k, v in config.items() if not k.startswith("quantization")})
    names = {n.replace(".layer.", "."): n for n, _ in tree_flatten(model.parameters())}
    model.load_weights([(names[n], x.astype(dtype)) for n, x in weights.items()])
    if dtype == mx.float64:
        for layer in model.layers:
            if kind == "qwen3_moe" and hasattr(layer.mlp, "switch_mlp"):
                layer.mlp.switch_mlp = EveryExpert(layer.mlp.switch_mlp)
    return model


class EveryExpert(nn.Module):
    """What a row's experts give, by running all of them: mlx gathers matrices in f32 only."""

    def __init__(self, switch):
        super().__init__()
        self.parts = [switch.gate_proj.weight, switch.up_proj.weight, switch.down_proj.weight]

    def __call__(self, x, ids):
        gate, up, down = self.parts
        each = [(nn.silu(x @ g.T) * (x @ u.T)) @ d.T for g, u, d in zip(gate, up, down)]
        return mx.take_along_axis(mx.stack(each, -2), ids[..., None], -2)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    mx.set_default_device(mx.cpu)
    bad = 0
    for name in CASES:
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d) if a.check else ROOT / name
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{name}: oracle error {make(name, folder):.2g}", flush=True)
            if a.check:
                for f in folder.iterdir():
                    if f.read_bytes() != (ROOT / name / f.name).read_bytes():
                        print(f"{name}/{f.name} differs")
                        bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
