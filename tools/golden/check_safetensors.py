#!/usr/bin/env python3
"""Compares our safetensors reader with the public `safetensors` package on every kept file.

  pip install safetensors numpy
  python3 tools/golden/check_safetensors.py BUILD_FOLDER [FILE.safetensors ...]

Both must refuse the same files of tests/corpus/safetensors and see the same tensors in the others.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from safetensors import safe_open

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A legal type that none of our kernels reads.
ONLY_THEIRS = {"dtype_f4"}


def theirs(path):
    """The tensors as the package sees them, or None if it refuses the file."""
    try:
        with safe_open(path, "np") as f:
            found = {name: f.get_slice(name) for name in f.keys()}
            found = {n: (s.get_dtype(), list(s.get_shape())) for n, s in found.items()}
    except Exception:
        return None
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    lines = []
    for name, (dtype, shape) in found.items():
        begin, end = header[name]["data_offsets"]
        shape = ", ".join(map(str, shape))
        lines.append(f"{name.encode().hex()} {dtype} [{shape}] {end - begin} @{8 + length + begin}")
    return sorted(lines)


def ours(tool, path):
    run = subprocess.run([tool, "dump-safetensors", path], capture_output=True, text=True)
    assert run.returncode in (0, 1), run
    return sorted(run.stdout.split("\n")[:-1]) if run.returncode == 0 else None


def check_writer(tool):
    """The package reads what our writer writes, and each tensor is aligned to its element."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/ours.safetensors"
        subprocess.run([tool, "sample-safetensors", path], check=True)
        expected = {"bytes": ("U8", [3]), 'caf\u00e9 "quoted"\n': ("F32", [2, 3]),
                    "scalar": ("BF16", []), "none": ("F16", [0, 5]), "codes": ("U32", [2, 2]),
                    "fp8": ("F8_E4M3", [1]), "wide": ("I64", [1, 1, 1]), "flag": ("BOOL", [1])}
        with safe_open(path, "np") as f:
            assert f.metadata() == {"format": "mlx"}, f.metadata()
            found = {n: (f.get_slice(n).get_dtype(), list(f.get_slice(n).get_shape()))
                     for n in f.keys()}
            assert found == expected, found
            assert f.get_tensor("codes").tobytes() == bytes([4]) * 16
            assert f.get_tensor("bytes").tobytes() == bytes([0]) * 3
        assert ours(tool, path) == theirs(path)
        for line in ours(tool, path):
            width = {"F32": 4, "U32": 4, "BF16": 2, "F16": 2, "I64": 8}.get(line.split()[1], 1)
            assert int(line.rsplit("@", 1)[1]) % width == 0, line


def main():
    tool = str(pathlib.Path(sys.argv[1]) / "src/formats/formats_tool")
    kept = sorted(str(p) for p in (ROOT / "tests/corpus/safetensors").iterdir())
    refused = 0
    for path in kept + sys.argv[2:]:
        a, b = ours(tool, path), theirs(path)
        if pathlib.Path(path).name in ONLY_THEIRS:
            assert a is None and b is not None, path
        elif a != b:
            sys.exit(f"{path}: differs\n  ours:   {a}\n  theirs: {b}")
        refused += a is None
    check_writer(tool)
    print(f"{len(kept) + len(sys.argv) - 2} files agree, {refused} of them refused")


main()
