#!/usr/bin/env bash
# mlxcel against llama.cpp on one GGUF file, by `mlxcel bench rounds`; the record goes to evidence/. A run's figure is the median
# of its repetitions.
#
#   bench/peers/against_llama.sh MODEL.gguf [ROUNDS] [THREADS] [PROMPT TOKENS] [TOKENS AFTER IT] [REPETITIONS]
#
#   REPEAT   processes behind each figure, which is their median (1): more where the machine is shared
#   METRIC   decode_tok_s (default) or prefill_tok_s
#   MLXCEL   the program (build/release/bin/mlxcel)
#   LLAMA_FLAGS  more flags of llama_peer.py, e.g. --plain-weights
#   PYTHON   a Python with llama-cpp-python and numpy (python3)
#
# Nothing else may run meanwhile: exit status 2 says that the record is not publishable.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
model=$1 rounds=${2:-10} threads=${3:-$(nproc)} prompt=${4:-512} generate=${5:-128} reps=${6:-5}
mlxcel=${MLXCEL:-$root/build/release/bin/mlxcel} python=${PYTHON:-python3}
version=$("$python" -c 'import importlib.metadata as m; print("llama-cpp-python-" + m.version("llama-cpp-python"))')
work="--prompt-tokens $prompt --gen-tokens $generate"
exec "$mlxcel" bench rounds -m "$model" --rounds "$rounds" --metric "results.${METRIC:-decode_tok_s}" --unit tok/s --repeat "${REPEAT:-1}" \
  --baseline-version "$version" --record "$root/evidence" \
  --arm "llama_cpp='$python' '$root/bench/peers/llama_peer.py' '$model' --prompt $prompt --generate $generate --batch 0 --reps $reps --threads $threads ${LLAMA_FLAGS:-} 2>/dev/null" \
  --arm "mlxcel='$mlxcel' bench decode -m '$model' $work --reps $reps -t $threads --json"
