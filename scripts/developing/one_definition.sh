#!/usr/bin/env bash
# Builds every program and test with link-time optimisation and stops at the first type that two files define differently under one name
# (GCC's -Werror=odr and -Werror=lto-type-mismatch). For releases: one core is busy for about an hour, ten minutes for the program alone (target strata).
# Usage: scripts/developing/one_definition.sh [TARGET ...]     default: all. Run scripts/test.sh first: it installs the packages.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-} in
  -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) give_up "unknown option $1; see --help" ;;
esac
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(all)

# Types are compared when a program is linked, even without optimisation.
flags='-flto=1 -Werror=odr -Werror=lto-type-mismatch'
build_folder=$root/build/one-definition
say "configuring $build_folder"
cmake -S "$root" -B "$build_folder" -G Ninja -DCMAKE_BUILD_TYPE=None -DSTRATA_CUDA=OFF -DCMAKE_CXX_FLAGS="-O0 $flags" \
  -DCMAKE_EXE_LINKER_FLAGS="$flags" -DCMAKE_SHARED_LINKER_FLAGS="$flags" \
  -DCMAKE_AR="$(command -v gcc-ar)" -DCMAKE_RANLIB="$(command -v gcc-ranlib)"
say "building ${targets[*]}"
cmake --build "$build_folder" --parallel 1 --target "${targets[@]}"
say "no type has two definitions"
