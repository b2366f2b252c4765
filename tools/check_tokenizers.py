#!/usr/bin/env python3
"""Compares our tokenizers with the tokenizers and sentencepiece packages, id for id.

  tools/check_tokenizers.py TOOL [--count N] [--seed S] [--sample] [--trained] [--unicode] [FILE]...

TOOL is the tokenizer_tool that the build makes. FILEs are GGUFs, tokenizer.json or tokenizer.model files; without any, all
in ${MLXCEL_TEST_DATA:-.cache/testdata} (tools/fetch_test_data). For each: the .inp/.out pairs beside it, then N strings
encoded and decoded. Without FILEs also the small ones of trained_tokenizers.py, and every code point. --sample: some of the
files, few strings. --trained, --unicode: one of the other parts alone.
Exit status 77: packages or files are missing.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIP = 77
# Enough to see every kind of model, and quick to load; ./test --all does the others.
SAMPLE, SAMPLE_STRINGS = ("bert-bge.gguf", "gpt-2.gguf", "llama-spm.gguf", "minilm.json", "mistral-v1.model"), 400


def run(tool, command, path, values, option):
    lines = "".join(json.dumps(v) + "\n" for v in values)
    done = subprocess.run([tool, command, path, option], input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def compare(what, path, inputs, found, expected):
    wrong = [(i, f, e) for i, f, e in zip(inputs, found, expected, strict=True) if f != e]
    print(f"{pathlib.Path(path).name}: {what}: {len(inputs)} compared, {len(wrong)} differ", flush=True)
    for i, f, e in wrong[:3]:
        print(f"    {i!r:.300}\n      ours   {f!r:.300}\n      theirs {e!r:.300}")
    return len(wrong)


def check_examples(tool, path):
    if not pathlib.Path(f"{path}.inp").exists():
        return 0
    text = pathlib.Path(f"{path}.inp").read_bytes().decode("utf-8")
    inputs = text.split("\n__ggml_vocab_test__\n")
    outputs = [[int(x) for x in line.split()] for line in open(f"{path}.out", encoding="utf-8")]
    inputs, outputs = inputs[:len(outputs)], outputs[:len(inputs)]
    return compare("examples", path, inputs, run(tool, "encode", path, inputs, "parse"), outputs)


def check(tool, path, strings, seed):
    import tokenizer_oracle
    oracle = tokenizer_oracle.oracle(path)
    wrong = check_examples(tool, path)
    file = isinstance(oracle, tokenizer_oracle.SpmFile)
    spm = file or isinstance(oracle, tokenizer_oracle.SentencePiece)
    if spm:
        # sentencepiece has no control tokens in text, and NUL ends its input; </s> is more than text to Phi-3. Others
        # take the places of such strings.
        spare = tokenizer_oracle.Strings(seed + 1)
        asked = len(strings)
        strings = [s for s in strings if "\0" not in s and "</s>" not in s]
        while len(strings) < asked:
            strings += [s for s in spare.many(1) if "\0" not in s and "</s>" not in s]
    expected = [oracle.encode(s) for s in strings]
    found = run(tool, "encode", path, strings, "plain" if spm else "parse")
    if str(path).endswith("spm_unigram_symbols.model"):
        # Behind a user-defined token sentencepiece rounds its sums otherwise, which orders tokens of equal sums.
        found, expected = [sorted(x) for x in found], [sorted(x) for x in expected]
    wrong += compare("encode", path, strings, found, expected)
    if spm and not file:
        return wrong
    rng = random.Random(seed)
    size = oracle.sp.get_piece_size() if file else oracle.t.get_vocab_size()
    lists = expected[:2000] + [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(2000)]
    lists += [ids[:len(ids) // 2] for ids in expected[:2000]]  # ends in half a character
    if str(path).endswith(".json"):
        # The package shows an added token as its normalizer left it; we show what the file says.
        changed = {a["id"] for a in json.load(open(path, encoding="utf-8"))["added_tokens"]
                   if oracle.t.id_to_token(a["id"]) != a["content"]}
        lists = [[i for i in ids if i not in changed] for ids in lists]
    if file:
        lists = [[i for i in ids if i not in oracle.control] for ids in lists]
    return wrong + compare("decode", path, lists, run(tool, "decode", path, lists, "all"),
                           [oracle.decode(ids) for ids in lists])


def check_trained(tool, strings, seed):
    """The tokenizers of trained_tokenizers.py, with what add_special puts around a text."""
    import tokenizer_oracle
    import trained_tokenizers
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, tokenizer in trained_tokenizers.build(strings[:1500]).items():
            path = f"{folder}/{name}.json"
            tokenizer.save(path)
            wrong += check(tool, path, strings, seed)
            found = run(tool, "encode", path, strings[:500], "special")
            wrong += compare("framed", path, strings[:500], found,
                             [tokenizer.encode(s).ids for s in strings[:500]])
        for path in trained_tokenizers.train_sentencepiece(strings[:1500], folder):
            wrong += check(tool, path, strings, seed)
    return wrong


def ranges(points):
    """"41-43 61": code points in hexadecimal, runs joined."""
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return " ".join(f"{a:x}-{b:x}" if a != b else f"{a:x}" for a, b in out)


def check_unicode(tool):
    """Every code point through every stage that asks Unicode about it. Those later than Unicode 13 may differ: they are
    listed."""
    import tokenizer_oracle
    import trained_tokenizers
    late = tokenizer_oracle.late_code_points()
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not 0xF0000 <= c]
    strings = [f"a{chr(c)}b" for c in points]
    wrong, listed = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, tokenizer in trained_tokenizers.unicode_stages().items():
            path = f"{folder}/{name}.json"
            tokenizer.save(path)
            found = run(tool, "encode", path, strings, "parse")
            theirs = [e.ids for e in tokenizer.encode_batch(strings, add_special_tokens=False)]
            differ = [c for c, f, e in zip(points, found, theirs, strict=True) if f != e]
            early = [c for c in differ if c not in late]
            wrong += len(early)
            listed.setdefault(ranges(set(differ) & late), []).append(name)
            print(f"{name}: {len(points)} code points, {len(early)} differ {ranges(early)[:200]}, and "
                  f"{len(differ) - len(early)} later than Unicode 13", flush=True)
    for text, names in listed.items():
        if text:
            print(f"later ones, {', '.join(names)}: {text}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", action="store_true", help="a part that takes seconds")
    parser.add_argument("--trained", action="store_true", help="the small tokenizers that are trained here")
    parser.add_argument("--unicode", action="store_true", help="every code point")
    args = parser.parse_intermixed_args()
    try:
        import gguf  # noqa: F401
        import sentencepiece  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as e:
        print(f"skipped: {e}; tools/fetch_test_data fetches what is missing")
        sys.exit(SKIP)
    import tokenizer_oracle
    data = pathlib.Path(os.environ.get("MLXCEL_TEST_DATA") or ROOT / ".cache" / "testdata")
    part = args.trained or args.unicode
    files = args.files or ([] if part else sorted(map(str, [*data.glob("vocab/*.gguf"), *data.glob("smollm2.gguf"),
                                           *data.glob("json/*.json"), *data.glob("spm/*.model")])))
    if not files and not part:
        print(f"skipped: no test data in {data}; tools/fetch_test_data fetches them")
        sys.exit(SKIP)
    if args.sample:
        files = [f for f in files if f.endswith(SAMPLE)]
        args.count = min(args.count, SAMPLE_STRINGS)
    strings = tokenizer_oracle.Strings(args.seed).many(args.count)
    wrong = sum(check(args.tool, f, strings, args.seed) for f in files)
    whole = not (args.files or part)
    if args.unicode or (whole and not args.sample):
        wrong += check_unicode(args.tool)
    if args.trained or whole:
        wrong += check_trained(args.tool, strings, args.seed)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tools"))
    main()
