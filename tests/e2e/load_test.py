#!/usr/bin/env python3
"""What loading takes: bytes a weight of every format, and the most memory of a large checkpoint.

  load_test.py BIN_FOLDER [--large]     without --large only the default model is loaded
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1])
LARGE = "--large" in sys.argv
ROOT = pathlib.Path(__file__).parents[2]
MODEL = pathlib.Path(subprocess.run([sys.executable, ROOT / "tools" / "fetch_model.py"], check=True, capture_output=True,
                                    text=True).stdout.strip())
FORMATS = [[], ["--dtype", "bfloat16"], ["--mode", "mxfp4"], ["--mode", "mxfp8"], ["--mode", "nvfp4"],
           *(["--bits", b, "--group-size", g] for b, g in ((2, 32), (3, 64), (4, 64), (5, 64), (6, 32), (8, 64)))]


def run(*args):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, r.stderr
    return r.stdout


def matrix_bytes(folder):
    """Of the weights in the file; norms and biases are kept as floats and are few."""
    total = 0
    for file in folder.glob("*.safetensors"):
        with open(file, "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        header.pop("__metadata__", None)
        total += sum(t["data_offsets"][1] - t["data_offsets"][0] for t in header.values())
    return total


class Load(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "ids").write_text("1 2 3 4 5 6 7 8")

    def test_peak_memory(self):
        model, size = MODEL, MODEL.stat().st_size
        if LARGE:
            config = {"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "intermediate_size": 4864,
                      "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936, "rms_norm_eps": 1e-6,
                      "rope_theta": 1e6, "max_position_embeddings": 32768, "tie_word_embeddings": True}
            (self.folder / "config.json").write_text(json.dumps(config))
            model = self.folder / "large"
            run(BIN / "mlxcel-core", "synth", "--config", self.folder / "config.json", "--bits", 8, "-o", model)
            size = matrix_bytes(model)
        p = subprocess.Popen([BIN / "mlxcel-core", "logits", "-m", model, "--ids", self.folder / "ids", "-o", os.devnull])
        _, status, usage = os.wait4(p.pid, 0)
        self.assertEqual(status, 0)
        peak = usage.ru_maxrss * 1024  # KV of 8 positions is nothing
        print(f"{size / 1e6:.0f} MB of weights: at most {peak / 1e6:.0f} MB of memory")
        self.assertLess(peak, 1.15 * size + 100e6)

    @unittest.skipUnless(LARGE, "eleven conversions: left to --large")
    def test_bytes_a_weight(self):
        for flags in FORMATS:
            model = self.folder / "converted"
            run(BIN / "mlxcel", "convert", MODEL, model, *flags)
            estimate = json.loads(run(BIN / "mlxcel", "generate", "-m", model, "-p", "a", "--estimate-memory", "--json"))
            self.assertLess(abs(estimate["weights_bytes"] / matrix_bytes(model) - 1), 0.03, flags)
            run("rm", "-r", model)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
