#!/usr/bin/env python3
"""Runs clang-tidy over the sources that changed since they last passed.

  python3 tools/tidy.py BUILD [--budget SECONDS] [FILE]...

BUILD holds compile_commands.json. A source passes until it, a header of ours that it reaches, or .clang-tidy changes:
stamps lie in BUILD/tidy. Without FILEs all of src/ but tests is looked at, longest unchecked first; --budget ends the
run in time on a cold machine, says what was left, and the next run goes on from there.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIDY = next((t for t in ("clang-tidy-14", "clang-tidy") if shutil.which(t)), None)


@functools.lru_cache(maxsize=None)
def reached(path):
    """The headers of ours that a file includes, directly or not, and itself."""
    found, todo = {path}, [path]
    while todo:
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', todo.pop().read_text(encoding="utf-8"), re.M):
            f = ROOT / "src" / name
            if f.exists() and f not in found:
                found.add(f)
                todo.append(f)
    return frozenset(found)


def key(path, command):
    h = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + command.encode())
    for f in sorted(reached(path)):
        h.update(f.read_bytes())
    return h.hexdigest()


def tidy(build, path):
    # Flags that only GCC knows must not fail clang's front end.
    return subprocess.run([TIDY, "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option",
                           "--extra-arg=-Wno-error", str(path)], capture_output=True, text=True)


def findings(text):
    """The blocks "file:line:column: error: ..." of an output, without clang-tidy's talk."""
    blocks = re.split(r"(?m)^(?=/\S+:\d+:\d+: (?:error|warning):)", text)[1:]
    return [re.sub(r"(?m)^(\d+ warnings?.*generated\.|Suppressed .*|Error while processing.*)\n?", "", b).strip() for b in blocks]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("build", type=pathlib.Path)
    ap.add_argument("--budget", type=float, default=1e9)
    ap.add_argument("--tests", action="store_true", help="look at tests too")
    ap.add_argument("file", nargs="*", type=pathlib.Path)
    a = ap.parse_args()
    if not TIDY:
        sys.exit("clang-tidy is missing: tools/setup test installs it")
    database = json.loads((a.build / "compile_commands.json").read_text())
    for e in database:  # clang cannot read GCC's precompiled headers
        e["command"] = re.sub(r" -include \S*/cmake_pch\.hxx| -Winvalid-pch| -fpch-preprocess", "", e["command"])
    entries = {pathlib.Path(e["file"]): e["command"] for e in database}
    wanted = [f.resolve() for f in a.file] or [f for f in entries if ROOT / "src" in f.parents and
                                              (a.tests or not f.stem.endswith("_test"))]
    stamps = a.build / "tidy"
    stamps.mkdir(exist_ok=True)
    (stamps / "compile_commands.json").write_text(json.dumps(database))
    todo = []
    for f in wanted:
        stamp = stamps / str(f.relative_to(ROOT)).replace("/", "+")
        k = key(f, entries[f])
        if not stamp.exists() or stamp.read_text() != k:
            todo.append((stamp.stat().st_mtime if stamp.exists() else 0, f, stamp, k))
    todo.sort()
    start, bad, late, seen = time.monotonic(), 0, 0, set()

    def one(item):
        if time.monotonic() - start > a.budget:
            return item, None
        return item, tidy(stamps, item[1])

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("MLXCEL_JOBS", os.cpu_count() or 1))) as pool:
        for (_, f, stamp, k), done in pool.map(one, todo):
            if done is None:
                late += 1
            elif done.returncode == 0:
                stamp.write_text(k)
            else:
                bad += 1
                # A fault in a header is found again by every source that includes it.
                for block in findings(done.stdout) or [done.stderr]:
                    if block not in seen:
                        print(block.replace(f"{ROOT}/", ""), flush=True)
                        seen.add(block)
    print(f"clang-tidy: {len(wanted)} files, {len(wanted) - len(todo)} unchanged, {len(todo) - late - bad} passed, "
          f"{bad} failed, {late} left for the next run, {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
