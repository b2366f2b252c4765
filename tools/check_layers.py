#!/usr/bin/env python3
"""Checks that the source tree keeps its shape. Exit status 1 and one line per breach, "file:line: what".

  python3 tools/check_layers.py [REPOSITORY]

- A file includes only the folders that its own folder may see. This table is the architecture.
- Libraries from outside enter in named places only: what mlxcel-core links stays header-only.
- Folders that compute do not print, and vector kernels call no libm.
- Sources are ASCII, at most 500 lines long; a header starts with what it is for and has `#pragma once`.
"""
import pathlib
import re
import sys

# Folder: the folders it may include besides itself. In the order of the layers.
MAY_INCLUDE = {
    "base": "",
    "formats": "base",
    "kernels": "base",
    "ops": "base",
    "backends": "base ops kernels",
    "weights": "base ops formats",
    "models": "base ops",
    "sampling": "base",
    "text": "base formats",
    "engine": "base ops models weights sampling",
    "chat": "base text sampling engine",
    "hub": "base",
    "evidence": "base engine ops sampling text chat",
    "server": "base chat text sampling engine hub evidence",
    "cli": "base formats kernels ops backends weights models sampling text engine chat hub evidence server",
}
# Tests and benchmarks build whole stacks, so they may see every folder below the two that face the user.
TESTS_MAY_INCLUDE = set(MAY_INCLUDE) - {"server", "cli"}
TEST_STEMS = ("_test", "_bench", "_fuzz", "_tool", "_testing")

# mlxcel-core runs where nothing is installed: it is made of these folders.
CORE = set("base formats kernels ops backends weights models sampling engine hub evidence".split())
# Third-party header (a pattern of the path between < and >): the places it may be included from.
THIRD_PARTY = {
    r"boost/json\b.*": ["base/json.h", "base/json.cc", "formats/json_events."],
    r"boost/.*": ["server/", "hub/", "chat/", "cli/"],
    r"hwy/.*": ["kernels/"],
    r"mlx/.*": ["backends/mlx/"],
    r"(cuda|cublas|nccl|nvrtc|mma|cutlass).*": ["kernels/", "backends/cuda/"],
    r"(spdlog|fmt)/.*": ["text/", "chat/", "hub/", "server/", "cli/"],
    r"(oniguruma\.h|unicode/.*)": ["text/"],
    r"curl/.*": ["hub/", "cli/"],
    r"CLI/.*": ["cli/"],
    r"prometheus/.*": ["server/"],
}
SILENT = set("formats kernels ops models sampling text".split())
PRINTS = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(std::)?(printf|fprintf|puts|fputs|perror)\s*\(")
LIBM = re.compile(r"\bstd::(exp|exp2|expm1|log|log2|log1p|sin|cos|tan|tanh|pow|erf|hypot|cbrt)\s*\(")
SUFFIXES = (".h", ".cc", ".cu", ".cuh")
MOST_LINES = 500


def is_test(path):
    return path.stem.endswith(TEST_STEMS)


def includes(path, top, line):
    """What is wrong with an #include line of src/<path>, or nothing."""
    m = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
    if not m:
        return None
    if m[1] == '"' and not m[2].startswith("hwy/"):
        folder = m[2].split("/")[0]
        if "/" not in m[2]:
            return f'write "{top}/{m[2]}": includes start with the folder'
        if folder not in MAY_INCLUDE:
            return f"{folder}/ is not a folder of src/"
        allowed = {top, *MAY_INCLUDE[top].split()} | (TESTS_MAY_INCLUDE if is_test(path) else set())
        return None if folder in allowed else f"{top}/ may not include {folder}/"
    if is_test(path):
        return None
    for pattern, places in THIRD_PARTY.items():
        if re.fullmatch(pattern, m[2]):
            if str(path).startswith(tuple(places)):
                return None
            return f"<{m[2]}> may be included from {', '.join(places)} only"
    return None


def check_file(path, text):
    """Breaches of src/<path> as (line, what)."""
    top = path.parts[0]
    lines = text.splitlines()
    found = []
    if top not in MAY_INCLUDE:
        return [(1, f"{top}/ is not in the table of folders (tools/check_layers.py)")]
    if len(lines) > MOST_LINES:
        found.append((len(lines), f"{len(lines)} lines; at most {MOST_LINES}"))
    if path.suffix in (".h", ".cuh"):
        if not text.startswith("//"):
            found.append((1, "a header starts with a comment that says what it is for"))
        # What is compiled once per instruction set is included again and again by Highway.
        again = path.stem.endswith("-inl") or "hwy/foreach_target.h" in text
        if "#pragma once" not in text and not again:
            found.append((1, "#pragma once is missing"))
    vector_code = top == "kernels" and (path.stem.endswith("_cpu") or path.stem.endswith("-inl"))
    for n, line in enumerate(lines, 1):
        if not line.isascii():
            found.append((n, "not ASCII: write an escape"))
        wrong = includes(path, top, line)
        if wrong:
            found.append((n, wrong))
        code = line.split("//")[0]
        if top in SILENT and not is_test(path) and PRINTS.search(code):
            found.append((n, f"{top}/ does not print"))
        if vector_code and LIBM.search(code):
            found.append((n, "libm differs between machines: use base/math.h"))
    return found


def check_public(path, text):
    """Breaches of include/<path>: standard headers and other public headers only, no conditional code."""
    found = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.isascii():
            found.append((n, "not ASCII"))
        if re.match(r"\s*#\s*(if|ifdef|ifndef)\b", line):
            found.append((n, "a public header has no conditional code"))
        m = re.match(r'\s*#\s*include\s+["<]([^">]+)', line)
        if m and not re.fullmatch(r"mlxcel/\w+\.h|[a-z_]+", m[1]):
            found.append((n, f"{m[1]}: a public header includes standard headers only"))
    return found


def check_tree(root):
    """Prints all breaches below a repository; gives back their number."""
    count = files = 0
    for top, check in (("src", check_file), ("include", check_public), ("tests", check_size), ("bench", check_size)):
        for f in sorted((root / top).rglob("*")):
            if f.suffix not in SUFFIXES:
                continue
            files += 1
            for line, what in check(f.relative_to(root / top), f.read_text(encoding="utf-8", errors="replace")):
                print(f"{f.relative_to(root)}:{line}: {what}")
                count += 1
    print(f"check_layers: {files} files, {count} breaches", file=sys.stderr)
    return count if files else 1


def check_size(path, text):
    lines = text.splitlines()
    found = [(n, "not ASCII: write an escape") for n, line in enumerate(lines, 1) if not line.isascii()]
    if len(lines) > MOST_LINES:
        found.append((len(lines), f"{len(lines)} lines; at most {MOST_LINES}"))
    return found


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    sys.exit(1 if check_tree(where) else 0)
