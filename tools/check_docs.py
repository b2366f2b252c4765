#!/usr/bin/env python3
"""Checks that what the documentation names exists. Exit status 1 and one line per missing name.

  python3 tools/check_docs.py [REPOSITORY]

In every Markdown file, outside of fenced blocks:
- a link to a file leads to one;
- `path/to/file.h` or `folder/` in backticks exists, seen from the root, from src/ or from the page itself;
- `function()` and `Type::function()` in backticks are declared in src/ or include/ (comments do not count).
A name with a blank, a capital N for a digit, a wildcard or <angle brackets>, or with an x in the place of a name (x.cc, x_test.cc, kernels/x/),
is an example, and what lies in build/ is made: neither is checked.
"""
import functools
import pathlib
import re
import sys

PATH = re.compile(r"\.?[\w.+-]+(/[\w.+-]+)*/?")
FILE_SUFFIX = re.compile(r"\.(h|cc|cu|cuh|py|md|cmake|json|tsv|txt|sh)$")
CALL = re.compile(r"(?:(\w+)::)?(\w+)\(\)")
SKIPPED = {"build", ".git", ".venv", ".cache", "shared"}


@functools.lru_cache
def code(root):
    """All of the sources without comments and strings."""
    text = []
    for top in ("src", "include"):
        for f in sorted((root / top).rglob("*")):
            if f.suffix in (".h", ".cc", ".cu", ".cuh"):
                raw = re.sub(r"/\*.*?\*/", "", f.read_text(encoding="utf-8", errors="replace"), flags=re.S)
                text.append(re.sub(r'//.*|"(?:\\.|[^"\\])*"', "", raw))
    return "\n".join(text)


def path_exists(root, page, name):
    here = (root / page).parent
    return any((base / name).exists() for base in (root, root / "src", here))


def call_exists(root, kind, function):
    text = code(root)
    if kind and not re.search(rf"\b(class|struct|namespace|enum class)\s+(\[\[\w+\]\]\s+)?{kind}\b", text):
        return False
    return re.search(rf"\b{function}\s*\(", text) is not None


def is_path(name):
    """a/b, folder/ and file.h are paths; 3/4, base::x and a sentence are not."""
    if not PATH.fullmatch(name) or name.startswith("build/") or re.search(r"(^|/)(x[_./]|NNNN)", name):
        return False
    return name.endswith("/") or ("/" in name and re.match(r"\.?[a-z]", name) is not None) or bool(FILE_SUFFIX.search(name))


def check_text(root, page, text):
    """Names in the text of a page that do not exist, as (line, what)."""
    found, fenced = [], False
    for n, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            target = target.split("#")[0]
            if target and "://" not in target and not ((root / page).parent / target).exists():
                found.append((n, f"link to {target}: no such file"))
        for name in re.findall(r"`([^`]+)`", line):
            call = CALL.fullmatch(name)
            if call and not call_exists(root, call[1], call[2]):
                found.append((n, f"{name}: not declared in src/"))
            # A file beside the page's subject is named with its folder; a bare x.h is looked up in the whole tree.
            elif not call and is_path(name) and not path_exists(root, page, name):
                bare = "/" not in name and any(True for top in ("src", "tools", "tests", "docs", "cmake", "bench")
                                               for _ in (root / top).rglob(name))
                if not bare:
                    found.append((n, f"{name}: no such file or folder"))
    return found


def pages(root):
    for f in sorted(root.rglob("*.md")):
        if not SKIPPED & set(f.relative_to(root).parts):
            yield f


def main(root):
    count = 0
    for f in pages(root):
        page = f.relative_to(root)
        for line, what in check_text(root, page, f.read_text(encoding="utf-8")):
            print(f"{page}:{line}: {what}")
            count += 1
    print(f"check_docs: {count} names or links without a target", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]))
