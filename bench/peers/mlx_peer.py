#!/usr/bin/env python3
"""mlx-lm on a checkpoint, or on a Llama shape with random quantized weights: prefill, decode, batches and blocks of rows, as one JSON record.

  pip install "mlx[cpu]" mlx-lm numpy       # or mlx[cuda13]; on a Mac plain mlx
  python3 bench/peers/mlx_peer.py --shape smollm2-135m --prompt 512 --generate 64
  python3 bench/peers/mlx_peer.py --model DIRECTORY --prompt 512 --generate 128 --batches --blocks

Random weights do where only the shape matters. Medians of --reps rounds after one unmeasured.
"""
import argparse
import array
import importlib.metadata
import pathlib

import mlx.core as mx
import mlx.nn as nn
from measure import median_seconds, print_record, rates
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.models.llama import Model, ModelArgs
from mlx_lm.utils import load_model

SHAPES = {  # layers, dim, heads, kv heads, ffn, vocab, tied
    "tiny": (2, 64, 4, 2, 128, 320, True),
    "smollm2-135m": (30, 576, 9, 3, 1536, 49152, True),
    "llama-3.2-1b": (16, 2048, 32, 8, 8192, 128256, True),
    "llama-3.1-8b": (32, 4096, 32, 8, 14336, 128256, False),
}


def random_model(shape, bits, group):
    layers, dim, heads, kv_heads, ffn, vocab, tied = SHAPES[shape]
    mx.random.seed(0)
    m = Model(ModelArgs(model_type="llama", num_hidden_layers=layers, hidden_size=dim, num_attention_heads=heads,
                        num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=vocab, rms_norm_eps=1e-5,
                        rope_theta=500000.0, tie_word_embeddings=tied))
    m.set_dtype(mx.bfloat16)
    if bits:
        nn.quantize(m, group, bits)
    mx.eval(m.parameters())
    return m, vocab


def checkpoint(folder):
    m, config = load_model(pathlib.Path(folder))
    mx.eval(m.parameters())
    return m, config.get("vocab_size") or config["text_config"]["vocab_size"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--model", help="a directory with config.json and safetensors, instead of --shape")
    ap.add_argument("--ids", help="raw little-endian int32: the prompt and one more; else random")
    ap.add_argument("--shape", choices=SHAPES, default="smollm2-135m")
    ap.add_argument("--bits", type=int, default=4, help="0: bf16")
    ap.add_argument("--group", type=int, default=64)
    ap.add_argument("--prompt", type=int, default=512)
    ap.add_argument("--generate", type=int, default=64)
    ap.add_argument("--batches", type=int, nargs="*", default=[8])
    ap.add_argument("--blocks", type=int, nargs="*", default=[1, 2, 5, 8])
    ap.add_argument("--reps", type=int, default=5)
    a = ap.parse_args()
    m, vocab = checkpoint(a.model) if a.model else random_model(a.shape, a.bits, a.group)
    state = {}

    def random_ids(batch, n):
        ids = mx.random.randint(0, vocab, (batch, n))
        mx.eval(ids)
        return ids

    def fresh(batch=1, fill=0):
        state["cache"] = make_prompt_cache(m)
        if fill:
            mx.eval(m(random_ids(batch, fill), cache=state["cache"]))

    def prefill(ids):
        mx.eval(m(ids, cache=state["cache"])[:, -1].argmax(-1))

    def fresh_prompt():
        fresh()
        prefill(prompt)

    def decode(ids, n):
        # The next step is launched before the last one is read, as mlx-lm's own loop does.
        token = ids
        for _ in range(n):
            token = m(token, cache=state["cache"])[:, -1:].argmax(-1)
            mx.async_eval(token)
        mx.eval(token)

    prompt, one = random_ids(1, a.prompt), random_ids(1, 1)
    if a.ids:
        given = array.array("i", pathlib.Path(a.ids).read_bytes())
        prompt, one = mx.array([given[:a.prompt]]), mx.array([given[a.prompt:a.prompt + 1]])
    record = {
        "prefill": rates(a.prompt, *median_seconds(lambda: prefill(prompt), a.reps, fresh)),
        "decode": rates(a.generate, *median_seconds(lambda: decode(one, a.generate), a.reps, fresh_prompt))}
    for n in a.batches:
        many = random_ids(n, 1)
        record[f"decode_batch_{n}"] = rates(n * a.generate, *median_seconds(
            lambda: decode(many, a.generate), a.reps, lambda: fresh(n, 64)))
    for n in a.blocks:
        rows = random_ids(1, n)
        seconds, _ = median_seconds(lambda: mx.eval(m(rows, cache=state["cache"])), a.reps, lambda: fresh(1, a.prompt))
        record[f"block_{n}_ms"] = round(seconds * 1e3, 3)
    print_record(peer="mlx-lm", baseline_version=f"mlx-lm-{importlib.metadata.version('mlx-lm')}",
                 mlx_version=importlib.metadata.version("mlx"), device=str(mx.default_device()), shape=a.model or a.shape, bits=a.bits, group=a.group, prompt=a.prompt, generate=a.generate,
                 reps=a.reps, **record)


if __name__ == "__main__":
    main()
