#!/usr/bin/env python3
"""llama.cpp on a GGUF file: prefill, decode behind a prompt, and decode of several sequences at once, as one JSON record.

  pip install llama-cpp-python numpy        # builds llama.cpp for this machine: minutes
  python3 bench/peers/llama_peer.py MODEL.gguf --prompt 512 --generate 128 --batch 8

The ids of --ids, or random ones; no tokenizer; after each forward only an argmax over the logits, which any program must do. All layers go to
a GPU if the build has one. Medians of --reps rounds after one unmeasured.
"""
import argparse
import os

import llama_cpp as llama
import numpy as np
from measure import median_seconds, print_record, rates


class Model:
    def __init__(self, path, context, sequences, threads, plain_weights=False):
        llama.llama_backend_init()
        p = llama.llama_model_default_params()
        p.n_gpu_layers = 999
        p.use_extra_bufts = not plain_weights
        self.model = llama.llama_model_load_from_file(path.encode(), p)
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp could not load it")
        c = llama.llama_context_default_params()
        c.n_ctx, c.n_batch, c.n_seq_max = context, max(context, 8), sequences
        c.n_threads = c.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, c)
        if not self.context:
            raise SystemExit("llama.cpp could not make a context")
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.batch = llama.llama_batch_init(max(context, 8), 0, sequences)

    def clear(self):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)

    def forward(self, rows):
        """rows: (token, position, sequence, wants logits). Waits for the result; argmax of the last row."""
        b = self.batch
        b.n_tokens = len(rows)
        for i, (token, position, sequence, logits) in enumerate(rows):
            b.token[i], b.pos[i], b.n_seq_id[i], b.seq_id[i][0], b.logits[i] = token, position, 1, sequence, logits
        if llama.llama_decode(self.context, b) != 0:
            raise SystemExit("llama_decode failed")
        llama.llama_synchronize(self.context)
        return int(np.ctypeslib.as_array(llama.llama_get_logits_ith(self.context, -1), shape=(self.vocab,)).argmax())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("--prompt", type=int, default=512)
    ap.add_argument("--generate", type=int, default=128)
    ap.add_argument("--batch", type=int, default=8, help="sequences that decode together; 0: leave out")
    ap.add_argument("--batch-prompt", type=int, default=64)
    ap.add_argument("--reps", type=int, default=5)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--plain-weights", action="store_true", default=os.environ.get("MLXCEL_LLAMA_PLAIN_WEIGHTS") == "1",
                    help="weights as in the file, not repacked: where llama.cpp's AMX kernels crash, as they do on some virtual machines; "
                         "MLXCEL_LLAMA_PLAIN_WEIGHTS=1 for `bench peer`, whose record then says so")
    ap.add_argument("--ids", help="raw little-endian int32: the prompt and one more")
    a = ap.parse_args()
    room = max(a.prompt + a.generate, a.batch * (a.batch_prompt + a.generate)) + 16
    m = Model(a.model, room, max(a.batch, 1), a.threads, a.plain_weights)
    ids = [int(t) for t in np.random.default_rng(0).integers(0, m.vocab, room)]
    if a.ids:
        given = [int(t) for t in np.fromfile(a.ids, "<i4")]
        ids = given + ids[len(given):]

    def prefill():
        m.forward([(ids[i], i, 0, i == a.prompt - 1) for i in range(a.prompt)])

    def decode():
        token = ids[a.prompt]
        for i in range(a.generate):
            token = m.forward([(token, a.prompt + i, 0, True)])

    def fill():
        m.clear()
        prefill()

    def fill_batch():
        m.clear()
        for s in range(a.batch):
            m.forward([(ids[i + s], i, s, i == a.batch_prompt - 1) for i in range(a.batch_prompt)])

    def decode_batch():
        for i in range(a.generate):
            m.forward([(ids[i + s], a.batch_prompt + i, s, True) for s in range(a.batch)])

    record = {"prefill": rates(a.prompt, *median_seconds(prefill, a.reps, m.clear)),
              "decode": rates(a.generate, *median_seconds(decode, a.reps, fill))}
    if a.batch > 0:
        record["decode_batch"] = rates(a.batch * a.generate, *median_seconds(decode_batch, a.reps, fill_batch))
    print_record(peer="llama.cpp", baseline_version=f"llama-cpp-python-{llama.__version__}", device="as built", model=a.model, threads=a.threads,
                 prompt=a.prompt, generate=a.generate, batch=a.batch, batch_prompt=a.batch_prompt, reps=a.reps, **record)


if __name__ == "__main__":
    main()
