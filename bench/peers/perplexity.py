#!/usr/bin/env python3
"""Perplexity of mlxcel against llama.cpp: same weights, same token ids, same scored positions.

  pip install llama-cpp-python gguf numpy
  python3 bench/peers/corpus.py /tmp/ppl/text.txt
  python3 bench/peers/perplexity.py ids     MODEL.gguf /tmp/ppl         # text.txt -> ids.i32, by llama.cpp's tokenizer
  python3 bench/peers/perplexity.py f32     MODEL.gguf /tmp/ppl         # the weights expanded: f32.gguf, by gguf-py
  python3 bench/peers/perplexity.py llama   /tmp/ppl                    # llama.cpp on f32.gguf -> llama.nll
  python3 bench/peers/perplexity.py mlxcel  MODEL.gguf /tmp/ppl f32     # mlxcel with MLXCEL_CPU_ACT=f32 -> f32.nll
  python3 bench/peers/perplexity.py mlxcel  MODEL.gguf /tmp/ppl int8    # mlxcel as it runs -> int8.nll
  python3 bench/peers/perplexity.py compare MODEL.gguf /tmp/ppl -o evidence/x.json

The ids are cut into windows of 512; each window is a sequence of its own from position 0, and begins with the model's
start token where its tokenizer adds one (Gemma's numbers are far off without it). Scored are all positions of a
window but the first (it has no context), 511 of 512. A *.nll file holds one double per scored position: minus the
natural logarithm of the probability of the id that stands there, computed from the logits in double precision.
llama.cpp runs with an f32 KV cache and without flash attention, so that its own rounding is as small as it gets.
"""
import argparse
import hashlib
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from measure import machine

WINDOW = 512
WINDOWS = 48
ROOT = pathlib.Path(__file__).resolve().parents[2]


def nll(logits, ids):
    """Minus log-probabilities of ids[1:] under logits[:-1]. [positions, vocab], [positions] -> [positions - 1]"""
    x = logits[:-1].astype(np.float64)
    top = x.max(-1)
    return np.log(np.exp(x - top[:, None]).sum(-1)) + top - x[np.arange(len(ids) - 1), ids[1:]]


def windows(folder):
    ids = np.fromfile(folder / "ids.i32", "<i4")
    if len(ids) != WINDOW * WINDOWS:
        sys.exit(f"{folder}/ids.i32: expected {WINDOW * WINDOWS} ids, found {len(ids)}")
    return ids.reshape(WINDOWS, WINDOW)


def score(name, folder, run):
    """Runs `run(ids) -> logits` over all windows and stores the scores."""
    out, start = [], time.time()
    for i, ids in enumerate(windows(folder)):
        out.append(nll(run(ids), ids))
        if not np.isfinite(out[-1]).all():
            sys.exit(f"{name}: window {i} has scores that are not finite")
        print(f"\r{name}: window {i + 1}/{WINDOWS}, perplexity {np.exp(np.concatenate(out).mean()):.4f}, "
              f"{time.time() - start:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    np.concatenate(out).astype("<f8").tofile(folder / f"{name}.nll")


def load_llama(path, **params):
    import llama_cpp
    llama_cpp.llama_backend_init()
    p = llama_cpp.llama_model_default_params()
    for key, value in params.items():
        setattr(p, key, value)
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), p)
    if not model:
        sys.exit(f"llama.cpp could not load {path}")
    return llama_cpp, model


def do_ids(a):
    llama_cpp, model = load_llama(a.model, vocab_only=True)
    text = (a.folder / "text.txt").read_bytes()
    room = len(text) + 8
    buffer = (llama_cpp.llama_token * room)()
    n = llama_cpp.llama_tokenize(llama_cpp.llama_model_get_vocab(model), text, len(text), buffer, room, False, False)
    if n < WINDOW * WINDOWS:
        sys.exit(f"text.txt: expected at least {WINDOW * WINDOWS} tokens, found {n}")
    ids = np.array(buffer[:WINDOW * WINDOWS], "<i4")
    vocab = llama_cpp.llama_model_get_vocab(model)
    if llama_cpp.llama_vocab_get_add_bos(vocab):
        ids[::WINDOW] = llama_cpp.llama_vocab_bos(vocab)
    ids.tofile(a.folder / "ids.i32")
    print(f"{n} tokens, the first {len(ids)} kept, SHA-256 {hashlib.sha256(ids.tobytes()).hexdigest()}")


def do_f32(a):
    import gguf
    from gguf.quants import dequantize
    source = gguf.GGUFReader(a.model)
    arch = source.get_field("general.architecture").contents()
    w = gguf.GGUFWriter(a.folder / "f32.gguf", arch)
    for field in source.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        w.add_key_value(field.name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    w.add_file_type(gguf.LlamaFileType.ALL_F32)
    kinds = {}
    for t in source.tensors:
        kinds[t.tensor_type.name] = kinds.get(t.tensor_type.name, 0) + 1
        x = dequantize(t.data, t.tensor_type).astype(np.float32)
        w.add_tensor(t.name, x.reshape([int(n) for n in reversed(t.shape)]))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"f32.gguf: {len(source.tensors)} tensors, from {kinds}")


def do_llama(a):
    llama_cpp, model = load_llama(a.folder / "f32.gguf", n_gpu_layers=0)
    p = llama_cpp.llama_context_default_params()
    p.n_ctx = p.n_batch = p.n_ubatch = WINDOW
    p.n_threads = p.n_threads_batch = a.threads
    p.type_k = p.type_v = 0  # GGML_TYPE_F32
    p.flash_attn_type = 0    # LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = llama_cpp.llama_init_from_model(model, p)
    vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    batch = llama_cpp.llama_batch_init(WINDOW, 0, 1)

    def run(ids):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        batch.n_tokens = len(ids)
        for i, t in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = int(t), i, 1, 0, 1
        if llama_cpp.llama_decode(context, batch) != 0:
            sys.exit("llama_decode failed")
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), shape=(len(ids), vocab))

    score("llama", a.folder, run)


def do_mlxcel(a):
    environment = dict(os.environ)
    environment.pop("MLXCEL_CPU_ACT", None)
    if a.activations == "f32":
        environment["MLXCEL_CPU_ACT"] = "f32"

    with tempfile.TemporaryDirectory(dir=a.folder) as t:
        one, raw = pathlib.Path(t) / "ids.i32", pathlib.Path(t) / "logits.f32"

        def run(ids):
            ids.astype("<i4").tofile(one)
            command = [a.mlxcel, "logits", "-m", a.model, "--ids", str(one), "-o", str(raw), "-t", str(a.threads)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
            return np.fromfile(raw, "<f4").reshape(len(ids), -1)

        score(a.activations, a.folder, run)


def do_compare(a):
    scores = {f.stem: np.fromfile(f, "<f8") for f in sorted(a.folder.glob("*.nll"))}
    ppl = {name: float(np.exp(x.mean())) for name, x in scores.items()}
    record = {
        "what": "perplexity", "model": pathlib.Path(a.model).name,
        "model_sha256": hashlib.sha256(pathlib.Path(a.model).read_bytes()).hexdigest(),
        "mlxcel": subprocess.run([a.mlxcel, "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        "peer": "llama.cpp, llama-cpp-python " + importlib.metadata.version("llama-cpp-python"),
        "machine": machine(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "windows": WINDOWS, "window": WINDOW, "scored_positions": WINDOWS * (WINDOW - 1),
        "text_sha256": hashlib.sha256((a.folder / "text.txt").read_bytes()).hexdigest(),
        "ids_sha256": hashlib.sha256((a.folder / "ids.i32").read_bytes()).hexdigest(),
        "perplexity": ppl, "made_with": "bench/peers/perplexity.py", "checks": {}}
    bad = 0
    for name, base, limit in (("f32", "llama", 1e-3), ("int8", "f32", 5e-3)):
        if name in ppl and base in ppl:
            off = ppl[name] / ppl[base] - 1
            worst = float(np.abs(scores[name] - scores[base]).max())
            record["checks"][f"{name} against {base}"] = {
                "relative_difference": off, "limit": limit, "holds": bool(abs(off) <= limit), "largest_nll_difference": worst}
            bad += abs(off) > limit
    text = json.dumps(record, indent=2)
    if a.output:
        a.output.write_text(text + "\n")
    print(text)
    if not record["checks"]:
        sys.exit("nothing to compare: run llama and mlxcel first")
    sys.exit(1 if bad else 0)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(required=True)
    for name, run, with_model in (("ids", do_ids, True), ("f32", do_f32, True), ("llama", do_llama, False),
                                  ("mlxcel", do_mlxcel, True), ("compare", do_compare, True)):
        p = sub.add_parser(name)
        p.set_defaults(run=run)
        if with_model:
            p.add_argument("model")
        p.add_argument("folder", type=pathlib.Path)
        p.add_argument("--threads", type=int, default=os.cpu_count())
        if name == "mlxcel":
            p.add_argument("activations", choices=("f32", "int8"))
        if name in ("mlxcel", "compare"):
            p.add_argument("--mlxcel", default=str(ROOT / "build/release/bin/mlxcel"))
        if name == "compare":
            p.add_argument("-o", "--output", type=pathlib.Path)
    a = ap.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
