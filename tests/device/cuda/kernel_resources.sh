#!/usr/bin/env bash
# Compiles one CUDA source for A100 and H100 and reads the compiler's report: no kernel may keep anything in local
# memory (spills, or arrays with an index that is not known), products that could go on by themselves must not be waited
# for one by one, and attention must use tensor cores.
# Usage: kernel_resources.sh NVCC ROOT SOURCE [ARCHITECTURE:INSTRUCTION...]
#   SOURCE       below ROOT
#   INSTRUCTION  one that the code for ARCHITECTURE must have, for example 80:mma.sync
set -euo pipefail
nvcc=$1 root=$2 source=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for architecture in 80 90a; do
  "$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -I"$root" -arch="sm_$architecture" -Xptxas -v -cubin \
    --keep --keep-dir "$work" -o "$work/kernels.cubin" "$root/$source" 2>"$work/report.txt" ||
    { cat "$work/report.txt"; exit 1; }
  # "ptxas info : Compiling entry function 'NAME' for 'sm_80'", then "N bytes stack frame, N bytes spill stores, ...".
  awk -v architecture="$architecture" '
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; ++kernels }
    /bytes stack frame/ { if ($1 + $5 + $9 > 0) { print "sm_" architecture ": " name ": " $0; bad = 1 } }
    END {
      print "sm_" architecture ": " kernels + 0 " kernels"
      exit bad || kernels == 0
    }' "$work/report.txt" || status=1
  if grep 'Potential Performance Loss' "$work/report.txt"; then status=1; fi
  for expected in "$@"; do
    [[ $expected == "$architecture":* ]] || continue
    if ! grep -q -F "${expected#*:}" "$work"/*.ptx; then
      echo "sm_$architecture: no ${expected#*:} in $source"
      status=1
    fi
  done
done
exit $status
