# What ./try, ./test and tools/setup share: messages, phases with a log, and a build that shows its progress.
# Sourced by bash; `root` is the repository.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs

say() { printf '%s\n' "$*" >&2; }

# die WHAT [WHAT TO DO]...
die() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "       $line"; done
  exit 1
}

# failed PHASE LOG: shows the end of the log, guesses the reason, stops.
failed() {
  say "error: $1 failed; the end of $2:"
  tail -n 40 "$2" >&2
  if grep -qi 'no space left' "$2"; then
    say "hint: the disk is full. $(df -h "$root" | awk 'NR == 2 {print $4 " free on " $6}')"
  elif grep -qiE 'temporary failure resolving|could not resolve|failed to fetch|network is unreachable|connection (refused|timed out)|NewConnectionError|getaddrinfo' "$2"; then
    say "hint: no network. Check the connection (and http_proxy, if you need one), then run the command again."
  elif grep -qiE 'fatal error: killed|signal terminated program|out of memory|virtual memory exhausted' "$2"; then
    say "hint: out of memory. MLXCEL_JOBS=1 builds one file at a time."
  fi
  exit 1
}

# How many compilers at once: one a core, but only as many as memory holds at 1.5 GB each.
jobs() {
  local cores memory
  cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN || echo 2)
  memory=$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null || echo 1000)
  [ "$memory" -ge 1 ] || memory=1
  [ "$memory" -ge "$cores" ] || cores=$memory
  echo "${MLXCEL_JOBS:-$cores}"
}

# phase NAME LOG COMMAND...: runs a command with its output in a log; says how long it took.
phase() {
  local name=$1 log=$logs/$2 start=$SECONDS
  shift 2
  mkdir -p "$logs"
  say "$name ..."
  "$@" >"$log" 2>&1 || failed "$name" "$log"
  [ $((SECONDS - start)) -lt 2 ] || say "$name: $((SECONDS - start)) s"
}

# configure PRESET [CMAKE ARGS]...: only if something it depends on is new; ninja itself re-runs cmake later.
configure() {
  local preset=$1 dir=$root/build/$1
  shift
  local key
  key=$( (cat "$root/CMakePresets.json"; echo "$root $*") | sha256sum | cut -c1-16)
  [ -e "$dir/configured-$key" ] && [ -e "$dir/build.ninja" ] && return
  # A build folder that was configured elsewhere (a moved or copied clone) would be refused by cmake.
  if [ -e "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    rm -rf "$dir"
  fi
  (cd "$root" && phase "configure $preset" "$preset-configure.log" cmake --preset "$preset" "$@")
  rm -f "$dir"/configured-*
  touch "$dir/configured-$key"
}

# cached PRESET VARIABLE: its value in a build folder that is configured for this place; otherwise nothing.
cached() {
  local cache=$root/build/$1/CMakeCache.txt
  [ -e "$root/build/$1/build.ninja" ] && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" || return 0
  sed -n "s/^$2:[A-Z]*=//p" "$cache"
}

# build PRESET [TARGET]...: quiet unless it fails; on a terminal the count runs along.
build() {
  local preset=$1 log=$logs/$1-build.log start=$SECONDS
  shift
  mkdir -p "$logs"
  local targets=("${@:-all}")
  # Nothing to do is the common case, and then nothing is said.
  if [ "$(ninja -C "$root/build/$preset" -n "${targets[@]}" 2>/dev/null | tail -n 1)" = "ninja: no work to do." ]; then
    return
  fi
  say "build $preset ..."
  local line last=""
  set +e
  ninja -C "$root/build/$preset" -j "$(jobs)" "${targets[@]}" 2>&1 | tee "$log" | while IFS= read -r line; do
    if [ -t 2 ] && [[ $line =~ ^\[([0-9]+/[0-9]+)\] ]] && [ "${BASH_REMATCH[1]}" != "$last" ]; then
      last=${BASH_REMATCH[1]}
      printf '\r  %s ' "$last" >&2
    fi
  done
  local status=${PIPESTATUS[0]}
  set -e
  [ -t 2 ] && printf '\r             \r' >&2
  [ "$status" -eq 0 ] || failed "build $preset" "$log"
  say "build $preset: $((SECONDS - start)) s"
}

# one_at_a_time: a second ./try or ./test in this clone waits for the first.
one_at_a_time() {
  mkdir -p "$root/build"
  exec 8>"$root/build/.lock"
  if ! flock -n 8; then
    say "another ./try or ./test is building here; waiting for it ..."
    flock 8
  fi
}
