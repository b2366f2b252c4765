#!/usr/bin/env python3
"""Writes tests/golden/quant/: weights of every format and what their own projects read in them.

GGUF formats: random blocks with finite scales, and gguf-py's dequantize. Affine codes: MLX's
quantize and dequantize. Each .bin is the file's data (affine: codes, scales, biases), then the
weights as f32. Needs: pip install gguf mlx[cpu].
"""

import pathlib

import gguf
import mlx.core as mx
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "quant"
ROWS, K = 2, 512
SCALES_AT = {  # byte offsets of the f16 numbers in a block
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0],
    "MXFP4": [], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}


def gguf_formats(rng):
    for name, offsets in SCALES_AT.items():
        kind = gguf.GGMLQuantizationType[name]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        data = rng.integers(0, 256, (ROWS, K // block, size), dtype=np.uint8)
        for at in offsets:
            scale = rng.normal(size=(ROWS, K // block, 1)).astype(np.float16)
            data[..., at : at + 2] = scale.view(np.uint8)
        if name == "MXFP4":
            data[..., 0] = rng.integers(0, 200, (ROWS, K // block))
        data = data.reshape(ROWS, -1)
        weights = gguf.quants.dequantize(data, kind).astype(np.float32)
        assert weights.shape == (ROWS, K) and np.isfinite(weights).all()
        (OUT / f"{name}.bin").write_bytes(data.tobytes() + weights.tobytes())


def affine_formats():
    mx.random.seed(1)
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for name, dtype in (("F16", mx.float16), ("BF16", mx.bfloat16), ("F32", mx.float32)):
                w = mx.random.normal((ROWS, 128)).astype(dtype)
                parts = mx.quantize(w, group_size=group, bits=bits)
                f32 = [parts[0], parts[1].astype(mx.float32), parts[2].astype(mx.float32)]
                weights = mx.dequantize(*f32, group_size=group, bits=bits)
                data = b"".join(bytes(memoryview(p.view(mx.uint8))) for p in parts)
                path = OUT / f"affine_{bits}_{group}_{name}.bin"
                path.write_bytes(data + np.array(weights).tobytes())


def small_floats():
    """mxfp4, mxfp8, nvfp4: any codes, scales that keep f32 finite. fp8: codes, then f32 scales of blocks of 1 x 96."""
    rng = np.random.default_rng(3)
    for mode, bits, group, scales in (("mxfp4", 4, 32, (0, 200)), ("mxfp8", 8, 32, (0, 200)), ("nvfp4", 4, 16, (0, 255))):
        codes = rng.integers(0, 256, (ROWS, 192 * bits // 8), dtype=np.uint8)
        scale = rng.integers(*scales, (ROWS, 192 // group), dtype=np.uint8)
        scale[scale == 127] = 126  # no number
        if bits == 8:
            codes[codes & 127 == 127] ^= 1
        w = mx.dequantize(mx.array(codes.view(np.uint32)), mx.array(scale), None, group, bits, mode, dtype=mx.float32)
        (OUT / f"{mode}.bin").write_bytes(codes.tobytes() + scale.tobytes() + np.array(w).tobytes())
    codes = np.arange(2 * 192, dtype=np.int64).astype(np.uint8).reshape(ROWS, 192)
    codes[codes & 127 == 127] ^= 1
    scale = rng.normal(size=(ROWS, 2)).astype(np.float32)
    w = np.array(mx.from_fp8(mx.array(codes), mx.float32)) * np.repeat(scale, 96, 1)
    (OUT / "fp8.bin").write_bytes(codes.tobytes() + scale.tobytes() + w.astype(np.float32).tobytes())


def mlx_quantize():
    """Rows of floats and what mx.quantize makes of them."""
    rng = np.random.default_rng(7)
    w = rng.standard_normal((6, 128)) * np.exp2(rng.integers(-8, 4, (6, 1)))
    w[1] = np.abs(w[1])
    w[2, :64], w[2, 64:] = 0.25, -0.25
    w[3, 10], w[4, 100] = 6.0, -5.0
    cases = [("affine", b, g) for b in (2, 3, 4, 5, 6, 8) for g in (32, 64, 128)]
    for mode, bits, group in cases + [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]:
        for name, dtype in (("F16", mx.float16), ("BF16", mx.bfloat16), ("F32", mx.float32)):
            x = mx.array(w.astype(np.float32)).astype(dtype)
            parts = [x, *mx.quantize(x, group, bits, mode)]
            data = b"".join(bytes(memoryview(p.view(mx.uint8))) for p in parts)
            (OUT / f"mlx_{mode}_{bits}_{group}_{name}.bin").write_bytes(data)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    gguf_formats(np.random.default_rng(1))
    affine_formats()
    small_floats()
    mlx_quantize()
