#!/usr/bin/env python3
"""Compares our template renderer with jinja2 on real chat templates.

Every *.jinja below the given folders (the test data that tools/fetch_test_data puts into
${MLXCEL_TEST_DATA:-.cache/testdata}) is rendered with 25 conversations by both; equal texts, or
two errors, are agreement. Exit status 1 if anything differs, 77 (skipped) without jinja2 or templates.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "template"))
try:
    import conversations
    import oracle
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default="build/src/text/template_tool", help="our renderer")
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    folders = args.folders or [os.environ.get("MLXCEL_TEST_DATA", ".cache/testdata")]
    files = sorted({p for f in folders for p in pathlib.Path(f).rglob("*.jinja")})
    if not files:
        print(f"skipped: no template below {' '.join(folders)}")
        return 77
    requests, expected = [], []
    for path in files:
        source = path.read_text(encoding="utf-8")
        for name, context in conversations.all_conversations():
            requests.append(json.dumps({"template": source, "context": context,
                                        "clock": oracle.CLOCK}))
            expected.append((path.name, name, *oracle.render(source, context)))
    answers = subprocess.run([args.tool], input="\n".join(requests) + "\n", capture_output=True,
                             encoding="utf-8", check=True).stdout.rstrip("\n").split("\n")
    most_steps = 0
    counts = {"text": 0, "error": 0, "different": 0}
    for (file, name, kind, value), line in zip(expected, answers, strict=True):
        answer = json.loads(line)
        most_steps = max(most_steps, answer.get("steps", 0))
        if kind in answer and (kind == "error" or answer["text"] == value):
            counts[kind] += 1
            continue
        counts["different"] += 1
        if counts["different"] <= args.show:
            print(f"{file} with {name}:\n  jinja2: {kind} {value!r}\n  ours:   {answer!r}")
    print(f"{len(files)} templates: {counts['text']} equal texts, {counts['error']} errors in both, "
          f"{counts['different']} different; at most {most_steps} steps")
    return 0 if counts["different"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
