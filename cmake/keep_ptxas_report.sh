#!/usr/bin/env bash
# Runs a CUDA compiler and keeps ptxas's report on each kernel beside the object: OBJECT.ptxas.txt, which
# tests/device/cuda/kernel_resources.sh reads. All other output of the compiler is shown.
# Usage: keep_ptxas_report.sh COMPILER ARGUMENT... -o OBJECT ...     a compiler launcher of CMake; ARGUMENTs have -Xptxas -v
set -uo pipefail
export LC_ALL=C.UTF-8
object= previous=
for argument in "$@"; do
  if [[ $previous == -o ]]; then object=$argument; fi
  previous=$argument
done
if [[ $object != *.o ]]; then exec "$@"; fi
report=$object.ptxas.txt
status=0
"$@" 2>"$report.unfinished" || status=$?
grep -v -E '^ptxas info|^ +[0-9]+ bytes stack frame' "$report.unfinished" >&2
mv "$report.unfinished" "$report"
exit "$status"
