#!/usr/bin/env python3
"""Checkpoints as people have them, right and wrong: what loads gives the right logits, what does not says why.

  checkpoints_test.py BIN_FOLDER
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
TIED = GOLDEN / "llama" / "hf_f32_tied"
IDS = "1 2 3 4 5 6 7 8"


def read_tensors(path):
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in header.items()}


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(d for _, _, d in tensors.values()))


class Checkpoints(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "ids").write_text(IDS)

    def copy(self, source=TIED, config=None, tensors=None):
        """The checkpoint with keys of its config and tensors replaced; None takes one away."""
        model = self.folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(source, model)
        c = json.loads((model / "config.json").read_text())
        for key, value in (config or {}).items():
            c.pop(key, None) if value is None else c.update({key: value})
        (model / "config.json").write_text(json.dumps(c))
        if tensors:
            all_tensors = read_tensors(model / "model.safetensors")
            for key, value in tensors.items():
                all_tensors.pop(key, None) if value is None else all_tensors.update({key: value})
            write_tensors(model / "model.safetensors", all_tensors)
        return model

    def run_logits(self, model):
        raw = self.folder / "raw"
        r = subprocess.run([BIN / "mlxcel-core", "logits", "-m", model, "--ids", self.folder / "ids", "-o", raw],
                           capture_output=True, text=True, timeout=120)
        return r, raw.read_bytes() if r.returncode == 0 else b""

    def logits(self, model):
        r, raw = self.run_logits(model)
        self.assertEqual(r.returncode, 0, r.stderr)
        return raw

    def refused(self, model, *parts):
        r, _ = self.run_logits(model)
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)  # one message
        for part in parts:
            self.assertIn(part, r.stderr)

    def test_m05_tied_heads(self):
        embedding = read_tensors(TIED / "model.safetensors")["model.embed_tokens.weight"]
        dtype, shape, data = embedding
        other = (dtype, shape, data[4 * shape[1]:] + data[:4 * shape[1]])  # rows moved by one
        tied = self.logits(self.copy(config={"tie_word_embeddings": True}))
        self.assertEqual(self.logits(self.copy(config={"tie_word_embeddings": True}, tensors={"lm_head.weight": other})), tied)
        own = self.logits(self.copy(config={"tie_word_embeddings": False}, tensors={"lm_head.weight": other}))
        self.assertNotEqual(own, tied)
        same = self.logits(self.copy(config={"tie_word_embeddings": False}, tensors={"lm_head.weight": embedding}))
        self.assertEqual(same, tied)
        self.refused(self.copy(config={"tie_word_embeddings": False}), "lm_head.weight", "missing")

    def test_m01_every_weight_exactly_once(self):
        norm = "model.layers.0.input_layernorm.weight"
        self.refused(self.copy(tensors={norm: None}), norm, "missing")
        extra = read_tensors(TIED / "model.safetensors")[norm]
        self.refused(self.copy(tensors={"model.layers.9.input_layernorm.weight": extra}), "model.layers.9", "does not use it")
        self.refused(self.copy(tensors={norm: (extra[0], [extra[1][0] // 2, 2], extra[2])}), norm, "shape: expected")
        self.refused(self.copy(tensors={norm: ("I32", extra[1], extra[2])}), norm, "F32, F16 or BF16, found I32")

    def test_keys_that_decide_are_not_guessed(self):
        for key in ("rms_norm_eps", "max_position_embeddings", "hidden_size", "num_hidden_layers", "vocab_size"):
            self.refused(self.copy(config={key: None}), "config.json", key, "missing")

    def test_unknown_families_name_the_nearest(self):
        self.refused(self.copy(config={"model_type": "qwen3moe"}), "model_type: expected one of gemma2", 'found "qwen3moe"',
                     "nearest: qwen3_moe")
        model = self.folder / "model.gguf"
        data = (GOLDEN / "qwen2" / "gguf_f32" / "model.gguf").read_bytes()
        model.write_bytes(data.replace(b"qwen2", b"qwenX"))
        self.refused(model, "general.architecture: expected one of", "qwen3moe", 'found "qwenX"', "nearest: qwen2")

    def test_quantization_that_is_not_known(self):
        for block, found in (({"bits": 7, "group_size": 32}, "bits"), ({"bits": 4, "group_size": 48}, "group_size"),
                             ({"quant_method": "gptq", "bits": 4}, "gptq"), ({"bits": 4, "group_size": 32, "mode": "q4"}, "q4"), (3, "quantization")):
            self.refused(self.copy(GOLDEN / "llama" / "affine4", config={"quantization": block}), "config.json: quantization", found)

    def test_codes_without_companions(self):
        name = "model.layers.0.mlp.up_proj."
        for part in ("scales", "biases"):
            self.refused(self.copy(GOLDEN / "llama" / "affine4", tensors={name + part: None}), name + part, "missing")
        scales = read_tensors(GOLDEN / "llama" / "mxfp8" / "model.safetensors")[name + "scales"]
        narrow = (scales[0], [scales[1][0], 1], scales[2][:scales[1][0]])
        self.refused(self.copy(GOLDEN / "llama" / "mxfp8", tensors={name + "scales": narrow}), name + "weight", "8 bits in groups of 64")
        fp8 = self.copy(GOLDEN / "llama" / "fp8", tensors={name + "weight_scale_inv": None})
        self.refused(fp8, name + "weight", "missing")
        scales = read_tensors(GOLDEN / "llama" / "fp8" / "model.safetensors")[name + "weight_scale_inv"]
        turned = self.copy(GOLDEN / "llama" / "fp8", tensors={name + "weight_scale_inv": (scales[0], scales[1][::-1], scales[2])})
        self.refused(turned, name + "weight", "expected [96, 64] codes and 6 scales ([3, 2])", "[2, 3]")

    def test_experts(self):
        source, name = GOLDEN / "qwen3_moe" / "f32", "model.layers.0.mlp.switch_mlp.up_proj.weight"
        stacked = self.logits(source)
        dtype, (experts, out, cols), data = read_tensors(source / "model.safetensors")[name]
        each = {name: None}
        for e in range(experts):
            part = data[e * out * cols * 4:(e + 1) * out * cols * 4]
            each[f"model.layers.0.mlp.experts.{e}.up_proj.weight"] = (dtype, [out, cols], part)
        self.assertEqual(self.logits(self.copy(source, tensors=each)), stacked)
        del each[f"model.layers.0.mlp.experts.{experts - 1}.up_proj.weight"]
        self.refused(self.copy(source, tensors=each), f"mlp.experts.{experts - 1}.up_proj.weight", "missing")
        self.refused(self.copy(source, config={"num_experts": experts + 1}), "mlp.gate.weight", "shape: expected")
        for key, value in (("num_experts_per_tok", 9), ("num_experts_per_tok", 0), ("num_experts", 0), ("decoder_sparse_step", 0)):
            self.refused(self.copy(source, config={key: value}), key)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
