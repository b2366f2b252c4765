#!/usr/bin/env bash
# mlxcel serve against llama-server on one GGUF file, by `mlxcel bench rounds` over `mlxcel bench serve`: throughput at 8 and
# 32 streams, and the time to the first token of 512-token prompts at 8 streams. The records go to evidence/.
#
#   bench/peers/against_llama_server.sh MODEL.gguf LLAMA_SERVER [throughput8|throughput32|ttft]...
#
#   MLXCEL   the program (build/release/bin/mlxcel)
#   ROUNDS   runs of each arm that count (3)
#   THREADS  of each server (all)
#   BASELINE what the record calls it, e.g. llama-cpp-python-0.3.36
#
# LLAMA_SERVER is built from the source package of llama-cpp-python, without curl and web page:
#   pip download --no-binary :all: --no-deps llama-cpp-python, then in vendor/llama.cpp
#   cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF -DLLAMA_BUILD_UI=OFF && ninja -C build llama-server
# Nothing else may run meanwhile: exit status 2 says that a record is not publishable.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
model=$1 llama=$2
shift 2
mlxcel=${MLXCEL:-$root/build/release/bin/mlxcel} threads=${THREADS:-$(nproc)} rounds=${ROUNDS:-3}
version=${BASELINE:-llama-server}

# compare METRIC UNIT STREAMS LOAD...
compare() {
  local metric=$1 unit=$2 streams=$3
  shift 3
  local load="--concurrency $streams $* --repeats 1 --json"
  local context=$((streams * 1024))  # llama-server's is shared by its slots
  "$mlxcel" bench rounds -m "$model" --rounds "$rounds" --metric "metrics.$metric.median" --unit "$unit" \
    --baseline-version "$version" --record "$root/evidence" \
    --arm "llama-server='$mlxcel' bench serve --start \"'$llama' -m '$model' --port {port} -t $threads -np $streams -c $context\" $load" \
    --arm "mlxcel='$mlxcel' bench serve --start \"'$mlxcel' serve -m '$model' --port {port} -t $threads --parallel $streams -c 1024 --quiet\" $load"
}

for what in "${@:-throughput8 throughput32 ttft}"; do
  for one in $what; do
    case $one in
      throughput8) compare throughput_tok_s tok/s 8 --requests 24 --warmup 8 --prompt-tokens 128 --output-tokens 64 ;;
      throughput32) compare throughput_tok_s tok/s 32 --requests 64 --warmup 8 --prompt-tokens 128 --output-tokens 64 ;;
      ttft) compare ttft_ms_p95 ms 8 --requests 24 --warmup 4 --prompt-tokens 512 --output-tokens 32 ;;
      *) echo "unknown comparison: $one" >&2; exit 1 ;;
    esac || [ $? -eq 2 ]
  done
done
