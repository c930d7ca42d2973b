#!/usr/bin/env bash
# Checks the alignment of kernels' shared memory in the code for H100: `wgmma` reads tiles with an address swizzle that
# requires it.
# Usage: shared_alignment.sh NVCC ROOT SOURCE BYTES
#   SOURCE  below ROOT
#   BYTES   the alignment of shared memory, and of the tiles in it
set -euo pipefail
nvcc=$1 root=$2 source=$3 bytes=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() { "$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -I"$root" -arch=sm_90a "$@" "$root/$source"; }
compile -ptx -o "$work/kernels.ptx"
compile -cubin -o "$work/kernels.cubin"
# ".shared .align 1024 .b8 NAME[16384];": two tiles of 64 rows of 128 bytes.
grep -oE '\.shared \.align [0-9]+ \.b8 \S+\[16384\]' "$work/kernels.ptx" >"$work/tiles" ||
  { echo "$source has no tiles in shared memory"; exit 1; }
status=0
if grep -v "align $bytes " "$work/tiles"; then status=1; fi
# "[24] .nv.shared.KERNEL NOBITS ADDRESS OFFSET SIZE ... ALIGNMENT"
readelf -SW "$work/kernels.cubin" 2>/dev/null | awk -v bytes="$bytes" '
  /\.nv\.shared\._Z/ { ++kernels; if ($NF != bytes) { print; bad = 1 } }
  END { print kernels + 0 " kernels with shared memory"; exit bad || kernels == 0 }' || status=1
exit $status
