#!/bin/sh
# compile.sh CCACHE COMPILER ARGUMENT...: what CMake runs in place of the compiler, so that all clones share one cache.
# A precompiled header holds the paths of its clone, so it is never taken from the cache: it is compiled, and beside it
# stands a hash of what it was made from, which ccache reads in place of the header itself (pch_external_checksum).
case " $* " in
  *.gch\ *) ;;
  *) exec "$@" ;;
esac
shift
"$@" || exit
output= dependencies= previous=
for argument; do
  case $previous in
    -o) output=$argument ;;
    -MF) dependencies=$argument ;;
  esac
  previous=$argument
done
headers() { tr -d '\\' <"$dependencies" | tr ' ' '\n' | grep '^/.*[^:]$' | grep -v cmake_pch | sort -u; }
# A path with a blank falls apart in this list: then ccache reads the precompiled header itself.
if ! headers | xargs cat >/dev/null 2>&1; then
  rm -f "$output.sum"
  exit 0
fi
{
  "$1" --version
  echo "$*" | sed "s|$CCACHE_BASEDIR||g"
  headers | xargs cat
} | sha256sum >"$output.sum"
