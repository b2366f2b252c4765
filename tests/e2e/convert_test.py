#!/usr/bin/env python3
"""convert on the default model and on tiny ones: what it writes is the same model, and never half of one.

  convert_test.py BIN_FOLDER
"""
import array
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).parents[2]
MODEL = pathlib.Path(subprocess.run([sys.executable, ROOT / "tools" / "fetch_model.py"], check=True, capture_output=True,
                                    text=True).stdout.strip())
GOLDEN = ROOT / "tests" / "golden"


def run(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300)


def convert(*args):
    r = run(BIN / "mlxcel", "convert", "--json", *args)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def header(folder):
    with open(folder / "model.safetensors", "rb") as f:
        return json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))


class Convert(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.folder.name) / "m \u017d"
        self.addCleanup(self.folder.cleanup)

    def logits(self, model, ids):
        listed, raw = pathlib.Path(self.folder.name) / "ids", pathlib.Path(self.folder.name) / "raw"
        listed.write_text(" ".join(map(str, ids)))
        r = run(BIN / "mlxcel", "logits", "-m", model, "--ids", listed, "-o", raw)
        self.assertEqual(r.returncode, 0, r.stderr)
        return raw.read_bytes()

    def nothing_is_left(self):
        self.assertEqual([p.name for p in pathlib.Path(self.folder.name).iterdir() if p.name.startswith("m \u017d")], [])

    def test_the_default_model_loses_nothing(self):
        said = convert(MODEL, self.out)
        self.assertTrue(all(k["lossless"] for k in said["kinds"]))
        # The head is Q8_0, d * q: as scale * code + bias it gives the same numbers, but sums round elsewhere.
        ids = [504, 2365, 282, 4649, 314, 260, 1, 2, 49151]
        ours, before = (array.array("f", self.logits(m, ids)) for m in (self.out, MODEL))
        self.assertLess(max(abs(x - y) for x, y in zip(ours, before, strict=True)), 1e-3 * max(map(abs, before)))
        text = "He said: \u00fc\u4f60 12345\n\n\tif x:  <|im_end|>\U0001f642"
        said = [run(BIN / "mlxcel", "generate", "-m", m, "-p", text, "-n", 24, "--temp", 0, "--json") for m in (MODEL, self.out)]
        first, second = (json.loads(a.stdout)["answers"][0] for a in said)
        for key in ("text", "prompt_tokens", "generated_tokens", "finish_reason"):
            self.assertEqual(first[key], second[key])
        self.assertEqual(json.loads((self.out / "config.json").read_text())["quantization"]["bits"], 4)

    def test_experts_become_one_tensor(self):
        source = GOLDEN / "qwen3_moe" / "f32"
        said = convert(source, self.out)
        self.assertTrue(all(k["lossless"] for k in said["kinds"]))
        self.assertEqual(header(self.out)["model.layers.0.mlp.switch_mlp.gate_proj.weight"]["shape"], [8, 32, 64])
        self.assertEqual(self.logits(self.out, range(40)), self.logits(source, range(40)))
        coded = self.out.with_name("m \u017d4")
        convert(source, coded, "--bits", 4, "--group-size", 32)
        self.assertEqual(header(coded)["model.layers.0.mlp.switch_mlp.down_proj.scales"]["shape"], [8, 64, 1])
        self.assertIs(json.loads((coded / "config.json").read_text())["quantization"]["model.layers.0.mlp.gate"], False)
        self.logits(coded, range(40))

    def test_recipes_and_overrides(self):
        convert(GOLDEN / "llama" / "hf_bf16", self.out, "--recipe", "mixed_3_6", "--group-size", 32)
        q = json.loads((self.out / "config.json").read_text())["quantization"]
        self.assertEqual((q["bits"], q["group_size"]), (3, 32))
        self.assertIn({"bits": 6, "group_size": 32}, q.values())
        self.logits(self.out, range(20))

    def test_a_converted_model_converts_to_itself(self):
        source = GOLDEN / "llama" / "affine4"
        said = convert(source, self.out)
        self.assertTrue(all(k["lossless"] for k in said["kinds"]))
        self.assertEqual(self.logits(self.out, range(20)), self.logits(source, range(20)))

    def test_refusals_leave_nothing(self):
        source = GOLDEN / "llama" / "hf_bf16"
        for status, flags, expected in (
                (2, ["--bits", "7"], "--bits = 7: expected one of 2, 3, 4, 5, 6, 8"),
                (2, ["--group-size", "48", "--bits", "4"], "--group-size = 48: expected one of 16, 32, 64, 128"),
                (1, ["--group-size", "32"], "--group-size: expected --bits"),
                (2, ["--mode", "int4"], "--mode = int4: expected one of affine, mxfp4, mxfp8, nvfp4"),
                (2, ["--recipe", "mixed"], "--recipe = mixed: expected one of mixed_2_6"),
                (2, ["--dtype", "f8"], "--dtype = f8: expected one of float32, float16, bfloat16")):
            r = run(BIN / "mlxcel", "convert", source, self.out, *flags)
            self.assertEqual(r.returncode, status, flags)
            self.assertIn(expected, r.stderr)
            self.nothing_is_left()
        self.out.mkdir()
        r = run(BIN / "mlxcel", "convert", source, self.out)
        self.assertEqual(r.returncode, 1)
        self.assertIn("where nothing is yet", r.stderr)
        self.out.rmdir()

    def test_a_full_disk_leaves_nothing(self):
        limit = 8 << 20  # of a file, which stands for the end of the disk
        r = subprocess.run([BIN / "mlxcel", "convert", MODEL, self.out], capture_output=True, text=True,
                           preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                               resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
        self.assertEqual(r.returncode, 1)
        self.assertIn("cannot write", r.stderr)
        self.nothing_is_left()

    def test_an_interrupt_leaves_nothing(self):
        p = subprocess.Popen([BIN / "mlxcel", "convert", MODEL, self.out, "--bits", "6", "-t", "1"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while p.poll() is None and not list(pathlib.Path(self.folder.name).iterdir()):
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=120)
        self.assertNotEqual(p.returncode, 0)
        self.nothing_is_left()

    def test_memory_is_bounded(self):
        limit = (60 << 20) + MODEL.stat().st_size  # the mapped file, and a little
        p = subprocess.Popen([BIN / "mlxcel", "convert", MODEL, self.out, "--bits", "8"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        self.assertEqual(status, 0)
        self.assertLess(usage.ru_maxrss * 1024, limit)  # the result is larger: 153 MB


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
