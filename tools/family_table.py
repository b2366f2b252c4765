#!/usr/bin/env python3
"""Writes docs/families.md: family x file format x test, from the program's own list of families and the golden cases.

  python3 tools/family_table.py BUILD/bin/mlxcel [--check]    # --check: writes nothing, fails if the page is not up to date
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "families.md"
SHARED = {"gemma3_text": "gemma3", "mistral": "llama"}  # whose goldens are another folder's
HEAD = """# Families

What each family is tested with: tiny random checkpoints whose logits at every position come from mlx-lm
(`tests/golden/`), in doubles, in float and with int8 activations. Made by `tools/family_table.py` from `mlxcel arch` and the cases.

"""
FORMATS = """
Every family reads every weight format, in either kind of file; the formats have tests of their own against gguf-py and MLX
(`src/kernels/quant/pack_test.cc`, `src/kernels/quant/recode_test.cc`).

| file | weight formats | test |
|---|---|---|
| GGUF 2 and 3, also split | F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, MXFP4 | `formats_test`, `kernels_test` |
| MLX safetensors | affine 2, 3, 4, 5, 6, 8 bits in groups of 32, 64, 128, mixed by module; mxfp4, mxfp8, nvfp4 | `kernels_test`, golden cases |
| Hugging Face safetensors, also shards | F32, F16, BF16; fp8 with scales by tensor, row or block | `formats_test`, golden cases |
"""


def cases(folder):
    """Of one family: {"GGUF" or "safetensors": sorted weight formats}"""
    found = {"GGUF": set(), "safetensors": set()}
    for path in sorted((ROOT / "tests" / "golden" / folder).glob("*/case.json")):
        case = json.loads(path.read_text())
        found["GGUF" if case["model"].endswith(".gguf") else "safetensors"].add(case["weights"])
    return {kind: sorted(weights) for kind, weights in found.items()}


def page(program):
    families = json.loads(subprocess.run([program, "arch", "--json"], check=True, capture_output=True, text=True).stdout)
    rows = ["| family | `model_type` | GGUF | golden as safetensors | golden as GGUF |", "|---|---|---|---|---|"]
    for f in families:
        tested = cases(SHARED.get(f["model_type"], f["model_type"]))
        if not tested["safetensors"]:
            sys.exit(f"{f['model_type']}: expected golden cases in tests/golden, found none")
        gguf = f"`{f['gguf']}`" if f["gguf"] else "-"
        rows.append(f"| {f['summary']} | `{f['model_type']}` | {gguf} | {', '.join(tested['safetensors'])} | "
                    f"{', '.join(tested['GGUF']) or '-'} |")
    return HEAD + "\n".join(rows) + "\n" + FORMATS


def main():
    text = page(sys.argv[1])
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.relative_to(ROOT)}: expected what tools/family_table.py writes, found something else; run it")
    print("passed")


if __name__ == "__main__":
    main()
