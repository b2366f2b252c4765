#!/usr/bin/env python3
"""Writes a GGUF of a Llama shape with random weights and no vocabulary: what llama.cpp needs to be measured on sizes whose
weights cannot be had.

  pip install gguf numpy
  python3 bench/peers/make_gguf.py OUT.gguf --shape llama-3.1-8b --type Q4_0
"""
import argparse

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

SHAPES = {  # layers, dim, heads, kv heads, head dim, ffn, vocab
    "tiny": (2, 64, 4, 2, 16, 96, 320),
    "llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256),
    "llama-3.1-8b": (32, 4096, 32, 8, 128, 14336, 128256),
}
SCALES = {"Q4_0": 1, "Q4_1": 2, "Q8_0": 1}  # half floats at the start of a block; the rest are codes


def random_blocks(rng, kind, rows, columns):
    """Random codes under one small scale: finite values of the size that weights have."""
    block, size = gguf.GGML_QUANT_SIZES[Type[kind]]
    raw = rng.integers(0, 256, (rows, columns // block, size), np.uint8)
    scales = np.array([0.002, -0.015][:SCALES[kind]], np.float16).view(np.uint8)
    raw[:, :, :len(scales)] = scales
    return raw.reshape(rows, -1)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("--shape", choices=SHAPES, default="llama-3.1-8b")
    ap.add_argument("--type", choices=SCALES, default="Q4_0")
    a = ap.parse_args()
    layers, dim, heads, kv_heads, head_dim, ffn, vocab = SHAPES[a.shape]
    rng = np.random.default_rng(0)
    w = gguf.GGUFWriter(a.out, "llama", use_temp_file=False)
    for add, value in ((w.add_context_length, 8192), (w.add_embedding_length, dim), (w.add_block_count, layers),
                       (w.add_feed_forward_length, ffn), (w.add_head_count, heads), (w.add_head_count_kv, kv_heads),
                       (w.add_layer_norm_rms_eps, 1e-5), (w.add_rope_freq_base, 500000.0),
                       (w.add_rope_dimension_count, head_dim), (w.add_vocab_size, vocab), (w.add_tokenizer_model, "no_vocab")):
        add(value)
    q, kv = heads * head_dim, kv_heads * head_dim
    matrices = [("token_embd", vocab, dim), ("output", vocab, dim)]
    vectors = ["output_norm"]
    for i in range(layers):
        matrices += [(f"blk.{i}.{name}", rows, columns) for name, rows, columns in (
            ("attn_q", q, dim), ("attn_k", kv, dim), ("attn_v", kv, dim), ("attn_output", dim, q),
            ("ffn_gate", ffn, dim), ("ffn_up", ffn, dim), ("ffn_down", dim, ffn))]
        vectors += [f"blk.{i}.attn_norm", f"blk.{i}.ffn_norm"]
    for name, rows, columns in matrices:
        w.add_tensor(name + ".weight", random_blocks(rng, a.type, rows, columns), raw_dtype=Type[a.type])
    for name in vectors:
        w.add_tensor(name + ".weight", np.ones(dim, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


if __name__ == "__main__":
    main()
