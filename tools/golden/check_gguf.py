#!/usr/bin/env python3
"""Compares our GGUF reader and writer with the public `gguf` package, value by value.

  pip install gguf numpy
  python3 tools/golden/check_gguf.py BUILD_FOLDER [FILE.gguf ...]

A file that our writer made must read the same in both, and so must every FILE.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter

NAMES = {
    GGUFValueType.UINT8: "u8", GGUFValueType.INT8: "i8", GGUFValueType.UINT16: "u16",
    GGUFValueType.INT16: "i16", GGUFValueType.UINT32: "u32", GGUFValueType.INT32: "i32",
    GGUFValueType.FLOAT32: "f32", GGUFValueType.BOOL: "bool", GGUFValueType.STRING: "string",
    GGUFValueType.ARRAY: "array", GGUFValueType.UINT64: "u64", GGUFValueType.INT64: "i64",
    GGUFValueType.FLOAT64: "f64",
}


def value(kind, part):
    if kind == GGUFValueType.STRING:
        return bytes(part).hex()
    if kind in (GGUFValueType.FLOAT32, GGUFValueType.FLOAT64):
        return "%.17g" % float(part[0])
    return str(int(part[0]))


def reference(path):
    reader = GGUFReader(path)
    version = reader.fields["GGUF.version"].parts[0][0]
    yield f"version {version} alignment {reader.alignment} data {reader.data_offset}"
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        kind = field.types[0]
        if kind == GGUFValueType.ARRAY:
            inner = field.types[-1]
            values = [value(inner, field.parts[i]) for i in field.data]
            yield " ".join([key, "array", NAMES[inner], str(len(values)), *values])
        else:
            yield " ".join([key, NAMES[kind], value(kind, field.parts[-1])])
    for t in reader.tensors:
        shape = ", ".join(str(int(d)) for d in reversed(t.shape))
        yield f"{t.name} {t.tensor_type.name} [{shape}] {t.n_bytes} @{t.data_offset}"


def write_reference_sample(path):
    """A file that the public package wrote, with types that ours reads."""
    w = GGUFWriter(path, "llama")
    w.add_block_count(3)
    w.add_array("texts", ["x", "yy", "\u00e9"])
    w.add_array("numbers", [1.5, 2.5])
    w.add_array("flags", [True, False])
    w.add_float64("f64", 1e-300)
    w.add_int64("i64", -5)
    for kind, block, size in (("Q4_0", 32, 18), ("Q8_0", 32, 34), ("Q6_K", 256, 210),
                              ("MXFP4", 32, 17), ("IQ4_NL", 32, 18), ("Q2_K", 256, 84),
                              ("Q3_K", 256, 110), ("Q4_K", 256, 144), ("Q5_K", 256, 176),
                              ("Q5_0", 32, 22), ("Q5_1", 32, 24), ("Q4_1", 32, 20)):
        data = np.zeros((2, 512 // block * size), np.uint8)
        w.add_tensor(kind, data, raw_dtype=GGMLQuantizationType[kind])
    for dtype in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64):
        w.add_tensor(np.dtype(dtype).name, np.ones((3, 5), dtype))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def compare(tool, path):
    ours = subprocess.run([tool, "dump-gguf", path], capture_output=True, check=True, text=True)
    theirs = list(reference(path))
    ours = ours.stdout.split("\n")[:-1]
    for a, b in zip(ours, theirs):
        if a != b:
            sys.exit(f"{path}: differs\n  ours:   {a[:200]}\n  theirs: {b[:200]}")
    if len(ours) != len(theirs):
        sys.exit(f"{path}: {len(ours)} lines of ours, {len(theirs)} of theirs")
    print(f"{path}: {len(ours)} lines equal")


def main():
    tool = str(pathlib.Path(sys.argv[1]) / "src/formats/formats_tool")
    with tempfile.TemporaryDirectory() as folder:
        sample = f"{folder}/ours.gguf"
        subprocess.run([tool, "sample-gguf", sample], check=True)
        compare(tool, sample)
        for t, fill, size in zip(GGUFReader(sample).tensors, (1, 2, 3), (24, 600, 14)):
            assert bytes(t.data.tobytes()) == bytes([fill]) * size, t.name
        write_reference_sample(f"{folder}/theirs.gguf")
        compare(tool, f"{folder}/theirs.gguf")
    for path in sys.argv[2:]:
        compare(tool, path)


main()
