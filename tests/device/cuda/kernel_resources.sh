#!/usr/bin/env bash
# Reads what the compiler said of one CUDA source's kernels for A100 and H100 (cmake/keep_ptxas_report.sh): no kernel
# may keep anything in local memory (spills, or arrays with an index that is not known), products that could go on by
# themselves must not be waited for one by one, and attention must use tensor cores.
# Usage: kernel_resources.sh NVCC ROOT SOURCE BUILD [ARCHITECTURE:INSTRUCTION...]
#   SOURCE       below ROOT
#   BUILD        folder of the library that it is part of
#   INSTRUCTION  one that the code for ARCHITECTURE must have, for example 80:mma.sync
set -euo pipefail
nvcc=$1 root=$2 source=$3 build=$4
shift 4
report=$build/CMakeFiles/strata_device.dir/${source#device/}.o.ptxas.txt
[[ -s $report ]] || { echo "$report: not there or empty; build strata_device first"; exit 1; }
status=0
for architecture in 80 90a; do
  # "ptxas info : Compiling entry function 'NAME' for 'sm_80'", then "N bytes stack frame, N bytes spill stores, ...".
  awk -v architecture="sm_$architecture" '
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; mine = part[4] == architecture; kernels += mine }
    /bytes stack frame/ && mine { ++judged; if ($1 + $5 + $9 > 0) { print architecture ": " name ": " $0; bad = 1 } }
    END {
      print architecture ": " kernels + 0 " kernels"
      exit bad || kernels == 0 || judged < kernels
    }' "$report" || status=1
done
if grep 'Potential Performance Loss' "$report"; then status=1; fi
for expected in "$@"; do
  architecture=${expected%%:*} instruction=${expected#*:}
  # Not into a pipe to grep -q, which would end the compiler early.
  code=$("$nvcc" -std=c++20 --expt-relaxed-constexpr -I"$root" -arch="sm_$architecture" -ptx -o - "$root/$source")
  if [[ $code != *"$instruction"* ]]; then
    echo "sm_$architecture: no $instruction in $source"
    status=1
  fi
done
exit $status
