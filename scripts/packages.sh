#!/usr/bin/env bash
# Makes packages of this tree.
# Usage: scripts/packages.sh [--aarch64] [deb] [static] [wheel] [browser]     default: deb static
#   deb       build/packages/*.deb: strata-tools, strata-training and libstrata-dev, for the Debian this runs on
#   static    build/packages/strata-static, the tools as one program that needs no library of the system, and a .tar.gz of it
#   wheel     build/packages/strata_tools-*.whl, the static program for pip; makes static first, and needs PyPI
#   browser   build/packages/strata.html, the checker as one page for a browser; needs Debian 13 or later, for Emscripten
#   --aarch64 static and wheel for aarch64, made on x86-64 Debian and tried in qemu; the names end with -aarch64 or aarch64.whl
# Environment: JOBS, compilations at a time (all processors); STRATA_MAINTAINER="Name <address>", for packages' Maintainer field
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

machine=$(uname -m) suffix="" cross=()
if [[ ${1:-} == --aarch64 ]]; then
  shift
  [[ $# -gt 0 ]] || set -- static
  if [[ $machine != aarch64 ]]; then
    source "$root/scripts/parts/aarch64.sh"
    machine=aarch64 suffix=-aarch64 cross=(-DCMAKE_TOOLCHAIN_FILE="$aarch64_toolchain")
  fi
fi
kinds=("$@")
[[ ${#kinds[@]} -gt 0 ]] || kinds=(deb static)
for kind in "${kinds[@]}"; do
  case $kind in
    deb) [[ ${#cross[@]} -eq 0 ]] || give_up "a .deb for aarch64 can be made only on aarch64" ;;
    browser) [[ ${#cross[@]} -eq 0 ]] || give_up "the page for browsers is the same for all machines: leave out --aarch64" ;;
    static | wheel) ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "there is no kind of package '$kind'; see --help" ;;
  esac
done
jobs=${JOBS:-$(nproc)}
packages=$root/build/packages
needs_writable_checkout
mkdir -p "$packages"
[[ ${#cross[@]} -eq 0 ]] || prepare_aarch64

# configure_and_build FOLDER PRESET TARGET... -- CMAKE_OPTION...
configure_and_build() {
  local folder=$1 preset=$2 targets=()
  shift 2
  while [[ $1 != -- ]]; do
    targets+=("$1")
    shift
  done
  shift
  say "building ${targets[*]} (preset $preset, build/$folder)"
  mkdir -p "$root/build/$folder"
  (cd "$root" && cmake --preset "$preset" -B "build/$folder" "$@" >"build/$folder/configure.log" 2>&1) || {
    cat "$root/build/$folder/configure.log" >&2
    give_up "cmake could not configure the build"
  }
  cmake --build "$root/build/$folder" --parallel "$jobs" --target "${targets[@]}"
}

make_debs() {
  install_packages dpkg-dev file
  local folder options=(-DCMAKE_INSTALL_PREFIX=/usr -DSTRATA_TESTS=OFF -DSTRATA_CUDA=OFF -DSTRATA_XLSX=ON)
  [[ -z ${STRATA_MAINTAINER:-} ]] || options+=("-DSTRATA_MAINTAINER=$STRATA_MAINTAINER")
  install_packages "${build_packages[@]}" "${training_packages[@]}"
  configure_and_build package-tools tools-only strata strata_mllog -- "${options[@]}"
  configure_and_build package-training release strata -- "${options[@]}"
  rm -f "$packages"/*.deb
  for folder in package-tools package-training; do
    # All users read installed files, whatever umask this user has.
    (umask 022 && cd "$root/build/$folder" && cpack -G DEB -B "$packages" >cpack.log 2>&1) || {
      cat "$root/build/$folder/cpack.log" >&2
      give_up "cpack could not make the packages"
    }
  done
  rm -rf "$packages/_CPack_Packages"
}

make_static() {
  install_packages "${build_packages[@]}"
  configure_and_build "tools-static$suffix" tools-static strata -- "${cross[@]}"
  local program=$packages/strata-static$suffix
  install -m 755 "$root/build/tools-static$suffix/cli/strata" "$program"
  "$root/tests/packages/static_test.sh" "$program" || give_up "the static program is not static"
  tar -C "$packages" -czf "$program.tar.gz" --owner=0 --group=0 --transform "s/^strata-static$suffix\$/strata/" "strata-static$suffix"
}

# The program is static, so it runs with glibc and with musl.
make_wheel() {
  make_static
  install_packages python3-venv
  local stage=$root/build/wheel python=$root/build/wheel-venv/bin/python program=$packages/strata-static$suffix version
  version=$("$program" --version | sed -n '1s/^strata \([0-9.]*\).*/\1/p')
  say "wheel: hatchling and auditwheel from PyPI"
  rm -rf "$stage" "$root/build/wheel-venv" "$packages"/strata_tools-*"$machine.whl"
  python3 -I -m venv "$root/build/wheel-venv"
  pip_of "$python" install wheel
  cp -r "$root/packaging/wheel" "$stage"
  cp "$root/LICENSE" "$stage/"
  install -m 755 "$program" "$stage/strata"
  (umask 022 && cd "$stage" && SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s) \
    STRATA_WHEEL_VERSION=$version \
    STRATA_WHEEL_PLATFORM=manylinux_2_17_$machine.manylinux2014_$machine.musllinux_1_1_$machine \
    "$python" -I -m hatchling build --target wheel --directory "$packages")
  "$root/tests/packages/wheel_test.sh" "$packages"/strata_tools-*"$machine.whl" "$program" "$machine" "$python" ||
    give_up "the wheel does not work, for the reason above"
}

make_browser() {
  source "$root/scripts/parts/browser.sh"
  prepare_browser
  configure_and_build browser tools-static strata_page -- "-DCMAKE_TOOLCHAIN_FILE=$browser_toolchain"
  install -m 644 "$root/build/browser/strata.html" "$packages/strata.html"
  node "$root/tests/packages/browser_test.js" "$packages/strata.html" || give_up "the page does not work, for the reason above"
}

for kind in "${kinds[@]}"; do
  case $kind in
    browser) make_browser ;;
    deb) make_debs ;;
    static) make_static ;;
    wheel) make_wheel ;;
  esac
done
say "made in build/packages"
(cd "$packages" && ls -lh)
