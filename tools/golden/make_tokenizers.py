#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/: what the tokenizers package makes of strings of ours.

  python3 tools/golden/make_tokenizers.py [--model SMOLLM2.gguf]

NAME.json holds a small tokenizer, trained here, with texts, their ids, and the text of the ids. smollm2.json holds texts
and ids only: the vocabulary is that of the default model (tools/fetch_model.py).
"""
import argparse
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tokenizer_oracle  # noqa: E402
import trained_tokenizers  # noqa: E402

OUT = ROOT / "tests" / "golden" / "tokenizers"
KEPT = ["byte_level_added", "byte_level_prefix", "lowercase_added", "byte_fallback", "split_merged_with_next",
        "metaspace_first_True", "word_piece", "word_suffix", "unigram", "unigram_bytes"]
CASES = 80


def write(name, value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    (OUT / f"{name}.json").write_text(text.replace('{"text"', '\n{"text"') + "\n", encoding="ascii")


def cases(tokenizer, texts, rng):
    """The text of the ids, and of random ids with half characters."""
    out = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        some = [rng.randrange(tokenizer.get_vocab_size()) for _ in range(rng.randint(1, 8))]
        out.append({"text": text, "ids": ids, "framed": tokenizer.encode(text).ids,
                    "decoded": tokenizer.decode(ids, skip_special_tokens=False), "some": some,
                    "some_decoded": tokenizer.decode(some, skip_special_tokens=True)})
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default=str(ROOT / ".cache" / "testdata" / "smollm2.gguf"))
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    rng = random.Random(7)
    made = trained_tokenizers.build(tokenizer_oracle.Strings(11).many(1500))
    texts = tokenizer_oracle.Strings(12).many(CASES)
    for name in KEPT:
        tokenizer = made[name]
        value = {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases(tokenizer, texts, rng)}
        if name == "lowercase_added":  # the package shows its added tokens in lower case, we as the file does
            for case in value["cases"]:
                del case["decoded"], case["some"], case["some_decoded"]
        write(name, value)
    model = tokenizer_oracle.oracle(args.model).t
    write("smollm2", {"cases": cases(model, tokenizer_oracle.Strings(13).many(250), rng)})


if __name__ == "__main__":
    main()
