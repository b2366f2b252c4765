#!/usr/bin/env bash
# Encoding of a text on one thread, mlxcel against the tokenizers package on one tokenizer.json, by `mlxcel bench rounds`; the
# record goes to evidence/.
#
#   bench/peers/against_tokenizers.sh TOKENIZER.json TEXT [ROUNDS]     # TEXT: tokenizers_peer.py text TEXT
#
#   MLXCEL   the program (build/release/bin/mlxcel)
#   TOOL     the tool that only encodes (build/release/src/text/tokenizer_tool)
#
# Nothing else may run meanwhile: exit status 2 says that the record is not publishable.
set -eu
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
file=$1 text=$2 rounds=${3:-5}
mlxcel=${MLXCEL:-$root/build/release/bin/mlxcel} tool=${TOOL:-$root/build/release/src/text/tokenizer_tool}
python=$root/tools/oracle_python
version=$("$python" -c 'import tokenizers; print("tokenizers-" + tokenizers.__version__)')
exec "$mlxcel" bench rounds --rounds "$rounds" --metric results.encode_mb_s --unit MB/s \
  --baseline-version "$version" --record "$root/evidence" \
  --arm "mlxcel='$tool' time '$file' '$text'" \
  --arm "tokenizers='$python' '$root/bench/peers/tokenizers_peer.py' time '$file' '$text'"
