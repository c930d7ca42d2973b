#!/usr/bin/env bash
# Checks the compiler's report on one CUDA source's kernels for A100 and H100 (cmake/keep_ptxas_report.sh). No kernel
# may use local memory (spills, or arrays with an unknown index), asynchronous products must not be serialized, and
# attention must use tensor cores. If the launch code assumes several blocks per multiprocessor, the kernel's registers
# must leave room for them.
# Usage: kernel_resources.sh NVCC ROOT SOURCE BUILD [ARCHITECTURE:INSTRUCTION | KERNEL=FILE:THREADS:BLOCKS]...
#   SOURCE       below ROOT
#   BUILD        folder of the library that contains it
#   INSTRUCTION  one that the code for ARCHITECTURE must have, for example 80:mma.sync
#   KERNEL       a function's name without namespaces. A multiprocessor must hold BLOCKS of its blocks of THREADS threads.
#                THREADS and BLOCKS name `constexpr int` constants in FILE (below ROOT), which the launch code uses, too
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

# The value of a constant `constexpr int NAME = VALUE;` of a file.
constant() {
  sed -n "s/.*constexpr int $2 = \([0-9]*\);.*/\1/p" "$1"
}

# check_residency KERNEL THREADS BLOCKS: fails and prints kernels that use too many registers. A multiprocessor has four
# register files of 16384, one for every fourth warp. Registers per thread are rounded up to a multiple of 8.
check_residency() {
  local kernel=$1 threads=$2 blocks=$3
  [[ $threads && $blocks ]] || { echo "$kernel: no such constants"; return 1; }
  awk -v named="${#kernel}$kernel" -v threads="$threads" -v blocks="$blocks" '
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; architecture = part[4] }
    /Used [0-9]+ registers/ && index(name, named) {
      ++judged
      match($0, /Used [0-9]+/)
      registers = substr($0, RSTART + 5, RLENGTH - 5)
      room = 4 * int(16384 / (32 * 8 * int((registers + 7) / 8)))
      if (blocks * threads / 32 > room) {
        print architecture ": " name ": " registers " registers leave room for " room " warps, not for " blocks \
              " blocks of " threads " threads"
        bad = 1
      }
    }
    END {
      print named ": " judged + 0 " kernels judged for " blocks " blocks of " threads " threads"
      exit bad || judged == 0
    }' "$report"
}

for expected in "$@"; do
  if [[ $expected == *=* ]]; then
    IFS=: read -r file threads blocks <<< "${expected#*=}"
    check_residency "${expected%%=*}" "$(constant "$root/$file" "$threads")" "$(constant "$root/$file" "$blocks")" ||
      status=1
    continue
  fi
  architecture=${expected%%:*} instruction=${expected#*:}
  # Not into a pipe to grep -q, which would end the compiler early.
  code=$("$nvcc" -std=c++20 --expt-relaxed-constexpr -I"$root" -arch="sm_$architecture" -ptx -o - "$root/$source")
  if [[ $code != *"$instruction"* ]]; then
    echo "sm_$architecture: no $instruction in $source"
    status=1
  fi
done
exit $status
