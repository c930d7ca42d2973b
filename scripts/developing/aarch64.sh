#!/usr/bin/env bash
# Builds Strata for aarch64 with a cross compiler, and runs the tests in qemu. Everything is made in build/aarch64*.
# Usage: scripts/developing/aarch64.sh [--tools] [CTEST OPTION...]     e.g. -R device/; default: all tests
#   --tools   only the tools, without training
# Needs Debian, and root or sudo: see scripts/parts/aarch64.sh. Environment: JOBS, compilations at a time (all processors)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
source "$root/scripts/parts/aarch64.sh"

case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
preset=release folder=build/aarch64
if [[ ${1:-} == --tools ]]; then
  shift
  preset=tools-only folder=build/aarch64-tools
fi
needs_writable_checkout
install_packages "${build_packages[@]}"
prepare_aarch64
cd "$root"

say "building for aarch64 (preset $preset, $folder)"
mkdir -p "$folder"
cmake --preset "$preset" -B "$folder" -DSTRATA_CUDA=OFF -DCMAKE_TOOLCHAIN_FILE="$aarch64_toolchain" >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log" >&2; give_up "cmake could not configure the build"; }
cmake --build "$folder" --parallel "${JOBS:-$(nproc)}"

say "testing in qemu, which is 10 to 100 times slower than a processor"
ctest --test-dir "$folder" --output-on-failure --timeout 6000 "$@"
