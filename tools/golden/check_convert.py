#!/usr/bin/env python3
"""Converted checkpoints in mlx-lm: it loads them, and computes the same logits.

  tools/golden/run check_convert.py BUILD/bin/mlxcel                 # tiny checkpoints: every family, file and mode
  tools/golden/run check_convert.py BUILD/bin/mlxcel --default       # the default model
  tools/golden/run check_convert.py BUILD/bin/mlxcel MODEL [--ids N] [-o RECORD.json] [-- FLAGS OF convert]

MODEL (a GGUF or a folder) is converted with the flags after "--". Both programs then run on the same ids: the text below and
the licence of this repository, by the converted tokenizer in transformers. Counted are positions where mlx-lm's two best
logits lie more than 1.0 apart: there both must put the same token first at 99 of 100. Where `convert` says that nothing
was lost, mlxcel's logits of the result must equal the source's, byte for byte; but for formats without a bias (Q8_0, Q4_0,
...), whose numbers are kept while the bias that MLX adds makes sums round elsewhere.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import mlx.core as mx
import numpy as np
from mlx.utils import tree_map
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = """In the spring of that year the river rose twice. "It's nothing," said the ferryman, who'd seen worse; still, he moved
his boat 30 yards up the bank.\n\n\tdef add(a, b):\n\t\treturn a + b  # 12345 + 67890\n\n\u4f60\u597d, \u00dcbergr\u00f6\u00dfe, na\u00efve caf\u00e9 \U0001f642  done.
"""
TINY = {
    "gemma2/f32": [[], ["--bits", "6", "--group-size", "32"]], "gemma2/gguf_window": [[]],
    "gemma3/affine8": [[]], "gemma3/gguf_linear": [[]], "granite/f32": [["--bits", "8"]], "granite/gguf_f32": [[]],
    "llama/gguf_bf16": [[]], "llama/gguf_q4_0": [[]], "llama/gguf_q4_1": [[]], "llama/gguf_q8_0": [[]],
    "llama/gguf_linear_rope": [[]], "llama/fp8": [[]], "llama/mxfp4": [[]],
    "llama/hf_bf16": [["--recipe", "mixed_3_6", "--group-size", "32"], ["--bits", "5", "--group-size", "32", "--dtype", "float32"],
                      ["--mode", "mxfp4"], ["--mode", "mxfp8"], ["--mode", "nvfp4"]],
    "llama/llama3_rope": [["--bits", "3", "--group-size", "64"]], "olmo2/gguf_f32": [[]], "phi3/gguf_longrope": [[]],
    "phi3/gguf_partial": [[]], "qwen2/gguf_f32": [["--bits", "4", "--group-size", "32"]], "qwen3/gguf_yarn": [[]],
    "qwen3_moe/affine4": [[]], "qwen3_moe/mixed": [["--bits", "4", "--group-size", "32"]], "qwen3_moe/gguf_f32": [[]],
    "smollm3/gguf_f32": [[]],
}
UNBIASED = ("Q4_0", "Q5_0", "Q8_0", "IQ4_NL")
WINDOWED = ("gemma2/gguf_window",)  # mlx-lm leaves Gemma 2's window out: as far as that reaches


def logits_of(program, model, ids, folder, **environment):
    raw, listed = folder / "logits.f32", folder / "ids.i32"
    np.asarray(ids, "<i4").tofile(listed)
    subprocess.run([program, "logits", "-m", model, "--ids", listed, "-o", raw], check=True, capture_output=True,
                   env={**os.environ, **environment})
    return np.fromfile(raw, "<f4").reshape(len(ids), -1)


def in_mlx(folder, ids):
    model, _ = load_model(folder)
    model = dequantize_model(model)  # on CPUs mlx multiplies codes at a thousandth of the speed of floats
    model.update(tree_map(lambda x: x.astype(mx.float32) if mx.issubdtype(x.dtype, mx.floating) else x, model.parameters()))
    return np.array(model(mx.array(ids)[None])[0])


def check(program, source, flags, count):
    with tempfile.TemporaryDirectory() as t:
        folder = pathlib.Path(t)
        converted = folder / "converted"
        said = json.loads(subprocess.run([program, "convert", source, converted, "--json", *flags], check=True,
                                         capture_output=True, text=True).stdout)
        lossless = all(k["lossless"] for k in said["kinds"])
        if (converted / "tokenizer.json").exists():
            ids = load_tokenizer(converted).encode(TEXT + (ROOT / "LICENSE").read_text())[:count]
        else:
            ids = np.fromfile(source.parent / "ids.i32" if source.is_file() else source / "ids.i32", "<i4")[:count].tolist()
        theirs = in_mlx(converted, ids)
        ours, before = (logits_of(program, m, ids, folder) for m in (converted, source))
        precise = logits_of(program, converted, ids, folder, MLXCEL_CPU_ACT="f32")
    vocab = min(ours.shape[1], theirs.shape[1])
    theirs, ours, before, precise = (x[:, :vocab] for x in (theirs, ours, before, precise))
    two = np.sort(theirs, -1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 1.0
    same = (ours.argmax(-1) == theirs.argmax(-1))[clear]
    record = {"flags": flags, "kinds": said["kinds"], "positions": len(ids), "clear_positions": int(clear.sum()),
              "same_top": int(same.sum()), "largest_logit": float(np.abs(theirs).max()),
              "median_difference_f32": float(np.median(np.abs(precise - theirs))),
              "lossless": lossless, "equal_bytes_to_source": bool((ours == before).all())}
    bad = []
    if not np.isfinite(ours).all() or same.sum() < 0.99 * clear.sum():
        bad.append("top tokens differ")
    # Keys and values are f16 in mlxcel: 2^-11 of each, which the layers add up.
    if record["median_difference_f32"] > 2e-3 * record["largest_logit"]:
        bad.append("logits differ")
    record["difference_from_source"] = float(np.abs(ours - before).max())
    biased = not any(k["from"] in UNBIASED and "group" in k["to"] for k in said["kinds"])
    if lossless and record["difference_from_source"] > (0 if biased else 1e-3 * record["largest_logit"]):
        bad.append("nothing was lost, but logits differ from the source's")
    return record, bad


def main():
    flags = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mlxcel", type=pathlib.Path)
    ap.add_argument("model", type=pathlib.Path, nargs="?")
    ap.add_argument("--default", action="store_true")
    ap.add_argument("--ids", type=int, default=512)
    ap.add_argument("-o", "--output", type=pathlib.Path)
    a = ap.parse_args(sys.argv[1:len(sys.argv) - len(flags) - bool(flags)])
    mx.set_default_device(mx.cpu)
    if a.default:
        fetch = [sys.executable, ROOT / "tools" / "fetch_model.py"]
        a.model = pathlib.Path(subprocess.run(fetch, check=True, capture_output=True, text=True).stdout.strip())
    if a.model:
        record, bad = check(a.mlxcel, a.model, flags, a.ids)
        record["model"] = a.model.name
        print(json.dumps(record, indent=2))
        if a.output:
            a.output.write_text(json.dumps(record, indent=2) + "\n")
        sys.exit("failed: " + ", ".join(bad) if bad else 0)
    failed = 0
    for case, all_flags in TINY.items():
        source = ROOT / "tests" / "golden" / case
        source = source / "model.gguf" if (source / "model.gguf").exists() else source
        for one in all_flags:
            record, bad = check(a.mlxcel, source, one, 36 if case in WINDOWED else 120)
            failed += bool(bad)
            print(f"{'FAILED: ' + ', '.join(bad) if bad else 'passed'}: {case} {' '.join(one)}: {record['same_top']} of "
                  f"{record['clear_positions']}, off by {record['median_difference_f32']:.2g} of {record['largest_logit']:.3g}", flush=True)
    print(f"{failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
