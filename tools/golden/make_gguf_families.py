#!/usr/bin/env python3
"""Writes tests/golden/<family>/gguf_<case>: cases of make_families.py again, as GGUF files.

  tools/golden/run make_gguf_families.py

The weights are the case's own, so the logits that mlx-lm gave for it are those of the GGUF too. Names of tensors and keys are
gguf-py's; what llama.cpp's converter does to the weights (rows of q and k permuted, 1 added to Gemma's gains, experts
stacked) is done here.
"""
import json
import pathlib
import shutil

import gguf
import mlx.core as mx
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
CASES = {  # case: architecture
    "gemma2/window": "gemma2", "gemma3/linear": "gemma3", "granite/f32": "granite", "llama/linear_rope": "llama",
    "olmo2/f32": "olmo2", "phi3/longrope": "phi3", "phi3/partial": "phi3", "qwen2/f32": "qwen2", "qwen3/yarn": "qwen3",
    "qwen3_moe/f32": "qwen3moe", "smollm3/f32": "smollm3",
}
PERMUTED = ("granite", "llama", "smollm3")


def permute(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def write_keys(w, arch, c):
    head_dim = c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_vocab_size(c["vocab_size"])
    w.add_rope_freq_base(c["rope_theta"] if arch != "smollm3" else c.get("rope_theta", 2e6))
    w.add_rope_dimension_count(int(head_dim * c.get("partial_rotary_factor", 1)))
    scaling = c.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in ("linear", "yarn"):
        w.add_rope_scaling_type({"linear": gguf.RopeScalingType.LINEAR, "yarn": gguf.RopeScalingType.YARN}[kind])
        w.add_rope_scaling_factor(scaling["factor"])
        if kind == "yarn":
            w.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    if kind == "longrope":
        original = c["original_max_position_embeddings"]
        w.add_rope_scaling_orig_ctx_len(original)
        stretch = c["max_position_embeddings"] / original
        w.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(stretch) / np.log(original))))
        for name in ("long", "short"):
            w.add_tensor(f"rope_factors_{name}.weight", np.array(scaling[name + "_factor"], np.float32))
    if arch in ("gemma2", "gemma3"):
        w.add_sliding_window(c["sliding_window"])
    if arch == "gemma2":
        w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
        w.add_final_logit_softcapping(c["final_logit_softcapping"])
    if arch == "gemma3":
        w.add_sliding_window_pattern([(i + 1) % c["sliding_window_pattern"] != 0 for i in range(c["num_hidden_layers"])])
        w.add_float32("gemma3.rope.freq_base_swa", c["rope_local_base_freq"])
    if arch == "granite":
        w.add_embedding_scale(c["embedding_multiplier"])
        w.add_attention_scale(c["attention_multiplier"])
        w.add_residual_scale(c["residual_multiplier"])
        w.add_logit_scale(c["logits_scaling"])
    if arch == "qwen3moe":
        w.add_expert_count(c["num_experts"])
        w.add_expert_used_count(c["num_experts_per_tok"])
        w.add_expert_feed_forward_length(c["moe_intermediate_size"])


def make(case, arch):
    source = ROOT / case
    target = source.with_name("gguf_" + source.name)
    target.mkdir(exist_ok=True)
    c = json.loads((source / "config.json").read_text())
    w = gguf.GGUFWriter(target / "model.gguf", arch)
    write_keys(w, arch, c)
    kind = next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == arch)
    names = gguf.get_tensor_name_map(kind, c["num_hidden_layers"])
    for name, x in sorted(mx.load(str(source / "model.safetensors")).items()):
        x = np.array(x)
        if arch in PERMUTED and ".q_proj." in name:
            x = permute(x, c["num_attention_heads"])
        if arch in PERMUTED and ".k_proj." in name:
            x = permute(x, c["num_key_value_heads"])
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            x = x + np.float32(1)
        found = names.get_name(name.replace(".switch_mlp.", ".experts."), try_suffixes=(".weight", ".bias"))
        assert found, name
        w.add_tensor(found, np.ascontiguousarray(x))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    for name in ("ids.i32", "logits.f32"):
        shutil.copy(source / name, target / name)
    info = json.loads((source / "case.json").read_text())
    info["model"] = "model.gguf"
    if arch.startswith("gemma"):  # the sum 1 + w is rounded to f32, and the oracle made that sum in f32 and in doubles
        info["oracle_max_abs_error"] = max(info["oracle_max_abs_error"], info["max_abs_logit"] * 2e-6)
    (target / "case.json").write_text(json.dumps(info, indent=2) + "\n")
    print(f"{case}: {(target / 'model.gguf').stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    for case, arch in CASES.items():
        make(case, arch)
