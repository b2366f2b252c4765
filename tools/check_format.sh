#!/usr/bin/env bash
# tools/check_format.sh [--fix]: every C++ and CUDA file of ours is as clang-format 14 writes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format is missing: tools/setup test installs it"; exit 1; }
case $("$tool" --version) in *" 14."*) ;; *) echo "clang-format: expected version 14, found $("$tool" --version)"; exit 1 ;; esac
mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
folders=()
for f in src include tests bench; do [ -d $f ] && folders+=("$f"); done
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$tool" "${mode[@]}"
